/* The whole evaluation of a run, made once, before the run is written and shown: its analysis and
 * its findings. Pure. */
#ifndef CONTEND_VERDICT_VERDICT_H
#define CONTEND_VERDICT_VERDICT_H

#include "harness/lib/finding.h"
#include "harness/record/analysis.h"
#include "harness/verdict/comparison.h"
#include "harness/verdict/symmetry.h"

struct verdict {
    struct analysis analysis;
    struct symmetry symmetry;
    struct comparisons comparisons; /* of a run of ab */
    struct findings findings;       /* in the order of output */
};

/*
 * The findings, in this order: for ab one sentence on all comparisons (ab.h); the best setting and
 * its command (advice.h), at the largest number of workers, where contention is highest; whether
 * the machine was busy, and who used it (busy.h); how throughput scales (scaling.h); what is kept
 * under load; the bound (bound.h); the findings of odd.h, statuses first, equal units last; the
 * control (control.h). Free with verdict_free, also after an error: -ENOMEM only. Borrows from
 * result and topo: after another round of the result, make the verdict anew.
 */
int verdict_make(const struct result *result, const struct topo *topo, struct verdict *verdict,
                 struct err *err);

/* The same for an existing analysis; all other fields of the verdict must be zero. */
int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err);

void verdict_free(struct verdict *verdict);

#endif

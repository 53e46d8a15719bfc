/* All that is made of a run, once, before it is written and shown: its analysis, and what that
 * says. Pure. */
#ifndef CONTEND_VERDICT_ADVICE_VERDICT_H
#define CONTEND_VERDICT_ADVICE_VERDICT_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"
#include "harness/verdict/odd/symmetry.h"
#include "harness/verdict/pairs/comparison.h"

struct verdict {
    struct analysis analysis;
    struct symmetry symmetry;
    struct comparisons comparisons; /* of an ab */
    struct findings findings;       /* in the order in which they are told */
};

/*
 * The findings: that the machine was too busy for evidence (busy.h); of an ab all comparisons in a
 * sentence (ab.h), of others what is best and the command for it (advice.h), about the largest
 * number of workers, since that is where they fight the most;
 * what is kept under load; then what did not end well (statuses.h), what a user's command did
 * behind its placement's back (commands.h), what scans say of their values
 * (scans.h), GPUs that are not as a run takes them, and what they met (gpus.h), and equal units
 * that are not alike (symmetry_findings.h). Free with verdict_free, also after an error: -ENOMEM
 * only. Borrows from both: when the result has got another round, make it anew.
 */
int verdict_make(const struct result *result, const struct topo *topo, struct verdict *verdict,
                 struct err *err);

/* The same of an analysis that is there already, in a verdict that is zeroed but for it. */
int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err);

/* Only the recommendation of a run: for results of versions with another rule. */
void verdict_add_placement(const struct analysis *analysis, struct findings *findings);

void verdict_free(struct verdict *verdict);

#endif

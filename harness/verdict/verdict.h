/* The whole evaluation of a run, made once, before the run is written and shown: its analysis and
 * its findings. Pure. */
#ifndef CONTEND_VERDICT_VERDICT_H
#define CONTEND_VERDICT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

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
 * The findings, in this order: for ab one sentence on all comparisons (ab.c); the best setting and
 * its command (advice.h), at the largest number of workers, where contention is highest; whether
 * the machine was busy, and who used it (odd.h); how throughput scales (bound.h); what is kept
 * under load; the bound (bound.h); the findings of odd.h, statuses first, equal units last; the
 * control (verdict.h). Free with verdict_free, also after an error: -ENOMEM only. Borrows from
 * result and topo: after another round of the result, make the verdict anew.
 */
int verdict_make(const struct result *result, const struct topo *topo, struct verdict *verdict,
                 struct err *err);

/* The same for an existing analysis; all other fields of the verdict must be zero. */
int verdict_judge(const struct topo *topo, struct verdict *verdict, struct err *err);

void verdict_free(struct verdict *verdict);

/*
 * Control rows, which every run adds to its own arms. A control measures the same thing in
 * all runs of all versions, so a change of its value is a change of the machine: clocks,
 * neighbours, memory. compare.h compares controls between runs as all rows; this module names them,
 * and finds changes within a run. Pure.
 */

/* "copy of memory: 12% slower", "kernel on GPU 0: 3% faster"; for GPU cycles "longer" and
 * "shorter". */
const char *control_format(const char *metric, const struct dims *at, double ratio);

/* The range of rounds on a steady machine, as a share. */
#define CONTROL_STEADY 0.25

/*
 * The outcome of several scenarios that one command ran one after the other: a line each. Plain
 * data, for a table, a page and JSON. Zeroed = no scenario was reached.
 */
enum collected_end {
    COLLECTED_NOT_REACHED,
    COLLECTED_MEASURED,
    COLLECTED_SKIPPED, /* nothing of it can be measured here */
    COLLECTED_FAILED,  /* a part that this machine can measure was not measured */
    COLLECTED_INTERRUPTED,
    COLLECTED_ABSENT, /* read back: there is no result */
    COLLECTED_ENDS
};

struct collected {
    const char *scenario, *summary; /* borrowed */
    enum collected_end end;
    unsigned rounds, rounds_planned;
    double took_s;
    size_t doubts, bad; /* findings */
    char sentence[900]; /* its overall finding, or why it has none; "" = see its table */
    bool has_page;      /* SCENARIO/report.html */
};

struct collection {
    const char *host, *command; /* borrowed */
    char started[32];           /* UTC, ISO 8601 */
    size_t n;
    struct collected *all; /* owned by the caller */
};

/* "measured", "not reached". */
const char *collected_name(enum collected_end end);

/* The number of scenarios with this end. */
size_t collection_count(const struct collection *collection, enum collected_end end);

/* From the findings: counts by severity, and the sentence about the whole run. A finding with lower
 * severity is preferred for the sentence. */
void collected_judge(struct collected *collected, const struct findings *findings);

/* "9 scenarios: 7 measured, 2 skipped", in buf. */
const char *collection_format(const struct collection *collection);

/* "3 of 5 rounds, 31 s, 1 in doubt"; "" for a scenario that was not measured. */
const char *collected_format(const struct collected *collected);

#endif

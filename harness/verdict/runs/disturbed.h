/*
 * What compare.h has decided, where most runs of a side say of themselves that they are no evidence
 * as too much else went on (verdict/odd/busy.h). Pure.
 *
 * - On one side alone: that it became worse there is what the disturbance explains, and SAME shows
 *   nothing. What was found against it stays: a disturbed side that is better is better.
 * - On both: runs that speak for themselves (RUN_SPREAD_RUNS_LEAST a side) have that
 *   in the spread between them. So does a history, if most of its runs are no evidence either: the
 *   spread of machines that were quiet, a history's or what is known of others, says nothing.
 * Such verdicts become UNCLEAR.
 */
#ifndef CONTEND_VERDICT_RUNS_DISTURBED_H
#define CONTEND_VERDICT_RUNS_DISTURBED_H

#include "harness/verdict/pairs/comparison.h"

enum disturbed_side { DISTURBED_BASE, DISTURBED_OTHER, DISTURBED_SIDES };

struct disturbed {
    size_t history, busy; /* runs of it that are used, and those of them that are no evidence */
    struct disturbed_runs {
        const char *name;  /* "base", "new" */
        size_t runs, busy; /* all, and those that are no evidence */
        char why[120];     /* of the last of those: "other programs used 50% of the CPUs" */
    } side[DISTURBED_SIDES];
};

/* Whether most runs of a side are no evidence. */
bool disturbed_any(const struct disturbed *of);

/* "3 of 5 runs of new are no evidence: other programs used 50% of the CPUs"; of both, with ", and".
 */
char *disturbed_format(const struct disturbed *of, char *buf, size_t size);

void disturbed_doubt(const struct disturbed *of, struct comparisons *comparisons);

#endif

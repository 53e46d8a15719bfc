/*
 * Revises the outcomes of compare.h where most runs of a side are no evidence, because the machine
 * was too busy (verdict/odd/busy.h). Pure.
 *
 * - One side is disturbed: the disturbance explains that this side is worse, and SAME shows
 * nothing. If the disturbed side is better, the outcome stays.
 * - Both sides are disturbed: outcomes stay with RUN_SPREAD_RUNS_LEAST runs a side, whose spread
 *   includes the disturbance. They also stay with a long history, if most of its runs are
 * disturbed, too. The spread of quiet machines, from a history or from what is known of others,
 * does not apply.
 *
 * All other outcomes become UNCLEAR.
 */
#ifndef CONTEND_VERDICT_RUNS_DISTURBED_H
#define CONTEND_VERDICT_RUNS_DISTURBED_H

#include "harness/verdict/pairs/comparison.h"

enum disturbed_side { DISTURBED_BASE, DISTURBED_OTHER, DISTURBED_SIDES };

struct disturbed {
    size_t history, busy; /* runs of the history that are used, and the disturbed ones among them */
    struct disturbed_runs {
        const char *name;  /* "base", "new" */
        size_t runs, busy; /* all runs, and the disturbed ones */
        char why[120];     /* of the last disturbed run: "other programs used 50% of the CPUs" */
    } side[DISTURBED_SIDES];
};

/* True if most runs of a side are disturbed. */
bool disturbed_any(const struct disturbed *of);

/* "3 of 5 runs of new were disturbed: other programs used 50% of the CPUs"; two sides are joined
 * with ", and". Returns buf. */
char *disturbed_format(const struct disturbed *of, char *buf, size_t size);

void disturbed_doubt(const struct disturbed *of, struct comparisons *comparisons);

#endif

/*
 * Two sides, each of one or more separate runs, row by row: FASTER, SLOWER, SAME or UNCLEAR. Pure.
 *
 * A row's unit is the run: its value is the logarithm of its median over rounds, and the spread
 * between runs is that of run_spread.h; of few runs, where their rounds say that a median alone is
 * less certain than what is known before, that counts instead. Of all that gate together the chance
 * to call any changed with nothing changed is COMPARE_ERROR, shared out over what was measured
 * (Bonferroni; Dunn 1961, so that each still has an interval). Two metrics of the same arm and key
 * (work per second and the time of a step) are one measurement of two: either is called changed
 * only where their mean is, too, which is a closed test (Marcus, Peritz and Gabriel 1976) and lets
 * both share one part of the error.
 *
 *   FASTER, SLOWER  the interval holds no "unchanged", and the change is larger than the threshold
 *   SAME            the 90% interval lies within the threshold (two one-sided tests of 5% a row;
 *                   Schuirmann 1987)
 *   UNCLEAR         neither
 *
 * The threshold is relative, or a floor in the unit where that is more (floor.h), so that nothing
 * fires on nanoseconds.
 *
 *   MISSING         a side has no value of it; or runs of a side failed, and the others do not show
 *                   SLOWER
 *
 * Noisy rows take part with a wider spread. A censored one is a bound: it can show a change that it
 * understates, and nothing else. Where the canaries (canary.h) show that the machine itself
 * moved, every interval is wider by that much.
 */
#ifndef CONTEND_VERDICT_RUNS_COMPARE_H
#define CONTEND_VERDICT_RUNS_COMPARE_H

#include "harness/verdict/pairs/comparison.h"
#include "harness/verdict/runs/pairing.h"

/* The share of comparisons without a change that may say FASTER or SLOWER of anything. */
#define COMPARE_ERROR 0.01

struct compare_options {
    double threshold;    /* relative: 0.05 = 5% */
    double round_s;      /* how long all runs measured a round; 0 = as usual */
    const char *refused; /* why the sides may not be compared: no verdict of anything; NULL = they
                            may be */
};

/*
 * sides[PAIRING_HISTORY], which may be none, are further runs of the machine with nothing changed
 * between them. Medians of several runs are their geometric mean. What does not gate has a ratio
 * and OUTCOME_NONE. Free with comparisons_free, also after an error: as pairing_make.
 */
int compare_make(const struct pairing_runs sides[PAIRING_SIDES],
                 const struct compare_options *options, struct comparisons *comparisons,
                 struct err *err);

#endif

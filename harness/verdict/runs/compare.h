/*
 * Compares two sides, each of one or more separate runs, row by row: FASTER, SLOWER, SAME or
 * UNCLEAR. Pure.
 *
 * The unit is the run: the value of a row is the logarithm of its median over rounds, and the
 * spread between runs comes from run_spread.h. With few runs, the uncertainty of a median from its
 * rounds counts instead, if it is larger. If nothing changed, the chance that any gating row is
 * called changed is COMPARE_ERROR in total. The measurements share it (Bonferroni; Dunn 1961, so
 * that each still has an interval). Two metrics of the same arm and key (throughput and step time)
 * are one measurement. Either is called changed only if their mean changed, too: a closed test
 * (Marcus, Peritz and Gabriel 1976), so both can use the same share of the error.
 *
 *   FASTER, SLOWER  the interval excludes "unchanged", and the change is above the threshold
 *   SAME            the 90% interval lies within the threshold (two one-sided tests of 5% a row;
 *                   Schuirmann 1987)
 *   UNCLEAR         neither
 *   MISSING         a side has no value of the row; or runs of a side failed, and the others do not
 *                   show SLOWER
 *
 * The threshold is relative, but at least the floor in the metric's unit (floor_of), so that
 * changes of nanoseconds do not count.
 *
 * Noisy rows take part with a wider spread. A censored row is a bound: it can only show a change
 * that it understates. If the controls (control.h) show that the machine itself changed, every
 * interval is wider by that much.
 */
#ifndef CONTEND_VERDICT_RUNS_COMPARE_H
#define CONTEND_VERDICT_RUNS_COMPARE_H

#include "harness/verdict/pairs/comparison.h"
#include "harness/verdict/runs/pairing.h"

/* The chance that a comparison without a change says FASTER or SLOWER anywhere. */
#define COMPARE_ERROR 0.01

struct compare_options {
    double threshold;    /* relative: 0.05 = 5% */
    double round_s;      /* how long all runs measured in a round; 0 = the usual length */
    const char *refused; /* why all verdicts are MISSING: not comparable; or NULL */
};

/*
 * sides[PAIRING_HISTORY], which may be empty, are further runs of the machine without changes
 * between them. The median of several runs is the geometric mean of their medians. A row that does
 * not gate has a ratio and OUTCOME_NONE. Free with comparisons_free, also after an error: as
 * pairing_make.
 */
int compare_make(const struct pairing_runs sides[PAIRING_SIDES],
                 const struct compare_options *options, struct comparisons *comparisons,
                 struct err *err);

#endif

/*
 * Compares two sides, each of one or more separate runs, row by row: FASTER, SLOWER, SAME or
 * UNCLEAR. Pure.
 *
 * The unit is the run: the value of a row is the logarithm of its median over rounds, and the
 * spread between runs comes from evidence.h. With few runs, the uncertainty of a median from its
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
 * that it understates. If the controls (verdict.h) show that the machine itself changed, every
 * interval is wider by that much.
 */
#ifndef CONTEND_VERDICT_RUNS_COMPARE_H
#define CONTEND_VERDICT_RUNS_COMPARE_H

#include "harness/verdict/comparison.h"
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

/*
 * For a pair that only one side has. Appends "only in base" to the comparison's reason and, if the
 * other side has the metric at the same key under other options, in what the nearest row differs:
 * "only in base: placement is none in base, sized in new". The first such text of a gating
 * comparison goes to `comparisons`, too.
 */
void apart_explain(const struct pairing *pairing, const struct pair *pair,
                   const struct pairing_runs sides[PAIRING_SIDES], struct comparison *comparison,
                   struct comparisons *comparisons);

/*
 * Revises the outcomes where most runs of a side are no evidence, because the machine was too busy
 * (busy_find in verdict/odd.h).
 *
 * - One side is disturbed: the disturbance explains that this side is worse, and SAME shows
 *   nothing. If the disturbed side is better, the outcome stays.
 * - Both sides are disturbed: outcomes stay with RUN_SPREAD_RUNS_LEAST runs a side, whose spread
 *   includes the disturbance. They also stay with a long history, if most of its runs are
 * disturbed, too. The spread of quiet machines, from a history or from what is known of others,
 * does not apply.
 *
 * All other outcomes become UNCLEAR. Also says why in comparisons->disturbed: "3 of 5 runs of new
 * were disturbed: other programs used 50% of the CPUs"; two sides are joined with ", and".
 */
void disturbed_doubt(const struct pairing_runs sides[PAIRING_SIDES],
                     struct comparisons *comparisons);

#endif

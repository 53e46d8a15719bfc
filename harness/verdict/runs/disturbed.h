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
#include "harness/verdict/runs/pairing.h"

/* Also says why in comparisons->disturbed: "3 of 5 runs of new were disturbed: other programs used
 * 50% of the CPUs"; two sides are joined with ", and". */
void disturbed_doubt(const struct pairing_runs sides[PAIRING_SIDES],
                     struct comparisons *comparisons);

#endif

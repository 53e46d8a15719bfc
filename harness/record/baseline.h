/*
 * Chooses the arms that each arm is compared with (METHOD, "Definitions"). Pure; part of
 * rounds_make. A solo run is one worker alone; with N = 1 workers every arm is a solo run.
 *
 * SLICE: the solo run with the highest median throughput over the rounds, among those that own at
 * most ceil(CPUs / N) CPUs under a disjoint placement or `same`. All placements of N workers share
 * it. SAME_PLACEMENT: the solo run under the same placement. SINGLE: the solo run under `none`.
 * IDLE: for a team under background load, the team without the load. BEST: the placement of as many
 * workers with the highest median throughput over the rounds. An arm that failed in a round, or is
 * known only as a bound, counts only if no other arm is left. `same` and `remote`, which exist for
 * comparison, come last.
 */
#ifndef CONTEND_RECORD_BASELINE_H
#define CONTEND_RECORD_BASELINE_H

#include "harness/record/rounds.h"

/* Fills `baseline` and `slices` of every arm. Needs `n` and `rate` of every arm. */
void baseline_choose(const struct result *result, struct rounds *rounds);

#endif

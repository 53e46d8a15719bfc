/*
 * Which arm another one is compared with (METHOD, "Definitions"). Pure; part of rounds_make.
 *
 * SLICE, the same for every placement of a worker count N: among the arms of one worker alone that
 * own at most ceil(CPUs / N) of the CPUs under a disjoint placement or `same`, the one with the
 * highest median throughput over the rounds. ALONE: one worker alone under the same placement.
 * SINGLE: one worker alone under `none`. With N = 1 every arm is one worker alone already. IDLE:
 * of workers that are one team and have a load behind them, the team without it. BEST: among the
 * placements of as many workers the one with the highest median throughput over the rounds: of
 * those that failed in no round and are no bounds, if there are any, and of `same` and `remote`,
 * which are there to compare with, only where there is nothing else.
 */
#ifndef CONTEND_ROWS_BASELINE_H
#define CONTEND_ROWS_BASELINE_H

#include "harness/rows/rounds.h"

/* Fills `baseline` and `slices` of every arm, of which `n` and `rate` are known. */
void baseline_choose(const struct result *result, struct rounds *rounds);

#endif

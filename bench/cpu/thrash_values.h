/*
 * The values of a cell of cache_thrash, from its pairs of slices. cache_thrash.c defines them.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_VALUES_H
#define CONTEND_BENCH_CPU_THRASH_VALUES_H

#include "bench/cpu/thrash_cells.h"
#include "bench/cpu/thrash_fight.h"
#include "bench/cpu/thrash_victims.h"

enum {
    THRASH_TIME,
    THRASH_ALONE,
    THRASH_SLOWDOWN,
    THRASH_COLD,
    THRASH_RATE,
    THRASH_BROUGHT,
    THRASH_WARM,
    THRASH_ACCESS,
    THRASH_REFILL, /* from here on: of cells in turns */
    THRASH_SWITCH,
    THRASH_ACCESS_FIRST,
    THRASH_ACCESS_WARM,
    THRASH_TURN,
    THRASH_VALUES
};

/*
 * Medians over the pairs in which the victim was warm without aggressors. If it was warm in none:
 * medians over all pairs, and THRASH_SWITCH, THRASH_ACCESS_FIRST and THRASH_ACCESS_WARM are NaN.
 * NaN: the cell has no such value.
 */
void thrash_sum_up(const struct fight *fight, const struct thrash_cell *cell,
                   const struct thrash_victim *victim, double value[static THRASH_VALUES]);

/* Why the cell has no slowdown, or in turns no refill or access_warm; NULL if it has, and for other
 * values. */
const char *thrash_why_absent(const struct thrash_cell *cell, unsigned which,
                              const double value[static THRASH_VALUES]);

/* The doubt about the refill if most turns end before the victim is warm; else "". */
const char *thrash_why_doubted(const struct fight *fight);

#endif

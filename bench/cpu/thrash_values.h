/*
 * The values of a cell of cache_thrash, from its pairs of slices: what each is, cache_thrash.c
 * says.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_VALUES_H
#define CONTEND_BENCH_CPU_THRASH_VALUES_H

#include "bench/cpu/fight.h"
#include "bench/cpu/thrash_cells.h"
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
    THRASH_REFILL, /* those from here on are of turns */
    THRASH_SWITCH,
    THRASH_ACCESS_FIRST,
    THRASH_ACCESS_WARM,
    THRASH_TURN,
    THRASH_VALUES
};

/*
 * Medians over the pairs whose slice alone was warm; where none is, over all, and without those
 * that need one. NaN: the cell has no such value.
 */
void thrash_sum_up(const struct fight *fight, const struct thrash_cell *cell,
                   const struct thrash_victim *victim, double value[static THRASH_VALUES]);

/* Why there is no slowdown, or no refill of turns; NULL where there is one. */
const char *thrash_why_absent(const struct thrash_cell *cell,
                              const double value[static THRASH_VALUES]);

/* What a refill is not, where most turns end before the victim is warm; else "". */
const char *thrash_why_doubted(const struct fight *fight);

#endif

/*
 * The arithmetic of `collective`: sizes, the number of iterations, and the evaluation of times.
 * Uses no ranks and no clocks.
 */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_POINTS_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/collective/collective_engine.h"

/* Sizes from begin to end, each `factor` times the one before: -b, -e and -f of nccl-tests. */
struct collective_range {
    uint64_t begin, end, factor; /* 0 < begin <= end, factor >= 2 */
};

size_t collective_range_count(const struct collective_range *range);

/*
 * Sets call->count and call->bytes to the largest that fit `size` bytes; false: not one element
 * fits. Parts for each rank are multiples of 16 bytes, as in nccl-tests.
 */
bool collective_fit(struct collective_call *call, uint64_t size, unsigned ranks);

/* busbw / algbw of METHOD.md, for two ranks or more. */
double collective_bus_factor(enum collective_op op, unsigned ranks);

/*
 * How many iterations take `share_s` if `done` iterations took `took_s`: a multiple of `batch`, at
 * most `most`, but at least one batch.
 */
uint64_t collective_iters(double share_s, double took_s, uint64_t done, unsigned batch,
                          uint64_t most);

/* The slowest rank's period of each operation: quantiles over operations. */
struct collective_spread {
    double p50_us, p99_us, max_us;
};

/* times[rank * iters + i]; `scratch` has room for iters. */
struct collective_spread collective_spread_of(const struct collective_time *times, unsigned ranks,
                                              unsigned iters, double *scratch);

/* True if every rank waits for all others: the rank that comes last is then busy the shortest. */
bool collective_names_last(enum collective_op op);

struct collective_lateness {
    unsigned rank;
    double last_share; /* share of operations in which the rank came last, 0..1 */
    double waited_us;  /* mean of its busy_us less that of the rank that came last */
};

/*
 * Fills lateness[rank]. A rank counts as last if it was busy for less time than every other rank,
 * by more than 0.5 us (the resolution of device events) and a tenth of the second shortest time.
 */
void collective_find_lateness(const struct collective_time *times, unsigned ranks, unsigned iters,
                              struct collective_lateness *lateness);

#endif

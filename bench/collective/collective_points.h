/*
 * The scan of `collective` as arithmetic: which operations of which sizes, how many iterations of
 * each, and what the times mean. No ranks, no clocks.
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
 * Makes call->count and call->bytes the largest that `size` bytes allow; false where they allow no
 * element. Parts for each rank are multiples of 16 bytes, as in nccl-tests.
 */
bool collective_fit(struct collective_call *call, uint64_t size, unsigned ranks);

/* busbw / algbw of METHOD.md, for two ranks or more. */
double collective_bus_factor(enum collective_op op, unsigned ranks);

/*
 * Iterations that take `share_s` when `done` of them took `took_s`: at least one batch, a multiple
 * of it, at most what fits below `most` (and one batch).
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

/* Where every rank waits for all others: the one that comes last is busy for the shortest time. */
bool collective_names_last(enum collective_op op);

struct collective_blame {
    unsigned rank;
    double last_share; /* of operations that all others waited for it in */
    double waited_us;  /* mean time that it was busy longer than the one that came last */
};

/*
 * blame[rank]. A rank counts as the last where it was busy shorter than all others by more than
 * half a microsecond, the resolution of device events, and a tenth of the next one's time.
 */
void collective_blame_ranks(const struct collective_time *times, unsigned ranks, unsigned iters,
                            struct collective_blame *blame);

#endif

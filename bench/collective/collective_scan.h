/* Shared by collective.c (which operations to run) and collective_scan.c (running them). */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_SCAN_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/collective/collective.h"

/*
 * The arithmetic of `collective`: sizes, the number of iterations, and the evaluation of times.
 * Uses no ranks and no clocks.
 */

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

enum place { PLACE_OUT, PLACE_IN, PLACE_BOTH };

struct collective_params {
    uint64_t begin, end;
    int64_t factor, root, queue;
    int op, type, redop, place;
    bool graph, registered, check;
};

/* The last entry is "all", at index COLLECTIVE_OPS. */
extern const char *const collective_op_names[];
extern const char *const collective_type_names[];
extern const char *const collective_redop_names[];

/* Indices of the dimensions. */
enum { BY_OP = 1, BY_RANK, BY_PLACE, BY_STAT, BY_SIZE, BY_WHY, BY_HOST };

/* Indices of bench_collective.metrics. */
enum {
    COLLECTIVE_LATENCY,
    COLLECTIVE_ALGBW,
    COLLECTIVE_BUSBW,
    COLLECTIVE_TIME,
    RANK_LAST_SHARE,
    RANK_WAITED,
    SKIPPED_SIZE,
    RANK_ON_HOST,
    COLLECTIVE_RANKS
};
enum { COLLECTIVE_HOST_MAX = 32 };

/* Sizes at which an operation was not run; 0 = none. See skipped_size in collective.c. */
struct skipped {
    uint64_t small, large;
};

struct collective_scan {
    struct collective team;
    struct collective_call *points; /* [npoints] */
    size_t npoints;
    struct skipped skipped[COLLECTIVE_OPS];
    double share_s; /* of the budget, for one point */
    /* Gathered from all processes or ranks, in order. */
    double *took_s;                      /* [processes] */
    struct collective_verdict *verdicts; /* [processes] */
    char (*hosts)[COLLECTIVE_HOST_MAX];  /* [processes] */
    bool several_hosts;
    struct collective_time *own, *times;  /* [local or ranks][COLLECTIVE_TIMES_MAX] */
    struct collective_lateness *lateness; /* [ranks] */
    double scratch[COLLECTIVE_TIMES_MAX];
    struct err wrong; /* what the first check that failed found */
};

/* `scan` of struct bench; ctx->state is a struct collective_scan. */
int collective_scan_run(struct bench_ctx *ctx);

#endif

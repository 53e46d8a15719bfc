/*
 * Measures the points of a scan in an order drawn per round: heat, clocks and warm buffers of one
 * point affect a different point in each round. The values are emitted in the order of the points,
 * so that rows keep their place. Points are 0..n-1.
 *
 *   rc = points_run(ctx, npoints, measure, conclude);
 *
 * `measure` emits what it measures. `conclude`, or NULL, is called for each point in order after
 * all are measured. Its values, such as those derived from other points, follow the point's own.
 */
#ifndef CONTEND_BENCH_COMMON_POINTS_H
#define CONTEND_BENCH_COMMON_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"

/* 0 or the first error, -errno with its reason in ctx->err; after an error no function is
 * called. */
int points_run(struct bench_ctx *ctx, size_t n, int (*measure)(struct bench_ctx *ctx, size_t point),
               void (*conclude)(struct bench_ctx *ctx, size_t point));

/* The value emitted for this metric at these dims; NaN = none. */
double points_value(const struct bench_ctx *ctx, unsigned metric, struct dims at);

/*
 * Emits, as `least`, the smallest position along `dim` with 95% of the best value of `metric`, a
 * rate, among the values that differ from place `at` in that dimension alone.
 */
void points_emit_least(struct bench_ctx *ctx, unsigned least, unsigned metric,
                       const struct dims *at, unsigned dim);

/* Time for each of n points: an equal part of the budget, but at least least_ns. */
uint64_t points_share_ns(const struct bench_ctx *ctx, size_t n, uint64_t least_ns);

/* Writes 1, 2, 4, ... and `most` itself, at most `n` (>= 1) counts; returns how many. */
size_t counts_doubled(unsigned most, unsigned *counts, size_t n);

/* True if the parameter selects this choice: it is 0 for all, or choice + 1. */
static inline bool points_asked(int param, unsigned choice)
{
    return !param || param == (int)choice + 1;
}

/*
 * A histogram of times, in bins of 1/32 of an octave: a percentile is exact within 1.6% (as in
 * fio's stat.h). Zeroed = empty.
 */
enum { TIMES_BINS = 1920 };
struct times {
    uint32_t bins[TIMES_BINS];
};

static inline void times_add(struct times *times, uint64_t ns)
{
    unsigned shift = ns < 64 ? 0 : 58 - (unsigned)__builtin_clzll(ns); /* leaves 32 to 63 */
    times->bins[(uint64_t)32 * shift + (ns >> shift)]++;
}

/* In ns; NaN if empty. The middle of the bin that holds the smallest value with at least that
 * fraction of all at or below it. */
double times_percentile(const struct times *times, double fraction);

/*
 * A slice of time in which several workers do the same at once. Each worker counts the part of its
 * work that lies in the slice; the first third is warm-up and does not count.
 *
 *   rc = slice_begin(&slice, ctx, share_s);
 *   while (!rc && clock_now_ns() < slice.end_ns) {
 *       uint64_t start_ns = clock_now_ns();
 *       ... one thing ...
 *       things += slice_part(&slice, start_ns, clock_now_ns());
 *   }
 *   each thing took slice_seconds(&slice) / things
 */
struct slice {
    uint64_t begin_ns, end_ns; /* the part that counts, on clock_now_ns */
};

/* Collective. The slice begins at worker 0's time; on a machine with another clock, when all
 * workers have arrived. Errors of peers_gather, and -ENOMEM. */
int slice_begin(struct slice *slice, const struct bench_ctx *ctx, double share_s);

/* The share of the time from start_ns to done_ns that counts: 0 to 1. */
double slice_part(const struct slice *slice, uint64_t start_ns, uint64_t done_ns);

double slice_seconds(const struct slice *slice);

/* Whether ranks can compare timestamps: CLOCK_MONOTONIC_RAW is shared only within one machine. */
enum { CLOCKS_ID = 40 };

/* Identifies the clock of this machine until the next boot; "" if unknown. */
void clocks_id(char id[static CLOCKS_ID]);

/* True if all ranks have one clock. Collective, like the calls of peers.h; their errors, and
 * -ENOMEM. */
int clocks_ask(const struct bench_ctx *ctx, bool *is_one);

#endif

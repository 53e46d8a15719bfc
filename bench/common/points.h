/*
 * The points of a scan, measured in an order that the round draws: heat, clocks and warm buffers
 * that one point leaves to the next fall on another one in each round. Their values end up in the
 * order of the points, so that rows stay where readers look for them. Points are 0..n-1.
 *
 *   rc = points_run(ctx, npoints, measure, conclude);
 *
 * `measure` emits what it has measured. `conclude`, or NULL, is called for each point in turn when
 * all are measured: what it emits stands behind the point's own, such as values that need others.
 */
#ifndef CONTEND_BENCH_COMMON_POINTS_H
#define CONTEND_BENCH_COMMON_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"

/* 0 or the first error, -errno with its reason in ctx->err; behind an error nothing is called. */
int points_run(struct bench_ctx *ctx, size_t n, int (*measure)(struct bench_ctx *ctx, size_t point),
               void (*conclude)(struct bench_ctx *ctx, size_t point));

/* The value that was emitted for that metric there; NaN without one. */
double points_value(const struct bench_ctx *ctx, unsigned metric, struct dims at);

/* Time for each of n points: an equal part of the budget, and no less than that. */
uint64_t points_share_ns(const struct bench_ctx *ctx, size_t n, uint64_t least_ns);

/* Writes 1, 2, 4, ... and `most` itself, at most `n` (>= 1) of them; returns how many. */
size_t counts_doubled(unsigned most, unsigned *counts, size_t n);

/* Whether a parameter that names one choice, or 0 for all, asks for this one. */
static inline bool points_asked(int param, unsigned choice)
{
    return !param || param == (int)choice + 1;
}

#endif

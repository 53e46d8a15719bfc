/*
 * The points of a scan, measured in an order that the round draws and emitted in their own: heat,
 * clocks and warm buffers that one point leaves to the next fall on another one in each round, and
 * rows stay where readers look for them. Points are 0..n-1, and results wait in the scan's state.
 *
 *   rc = points_run(ctx, npoints, measure_point, emit_point);
 */
#ifndef CONTEND_BENCH_COMMON_POINTS_H
#define CONTEND_BENCH_COMMON_POINTS_H

#include <stddef.h>

#include "harness/contract/bench.h"

/* 0 or the first error, -errno with its reason in ctx->err; behind an error nothing is called. */
int points_run(struct bench_ctx *ctx, size_t n, int (*measure)(struct bench_ctx *ctx, size_t point),
               void (*emit)(struct bench_ctx *ctx, size_t point));

#endif

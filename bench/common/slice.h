/*
 * A slice of time in which several workers do the same at once, each counting what of its own lies
 * in it: the first third does not count.
 *
 *   rc = slice_begin(&slice, ctx, share_s);
 *   while (!rc && clock_now_ns() < slice.end_ns) {
 *       uint64_t start_ns = clock_now_ns();
 *       ... one thing ...
 *       things += slice_part(&slice, start_ns, clock_now_ns());
 *   }
 *   each thing took slice_seconds(&slice) / things
 */
#ifndef CONTEND_BENCH_COMMON_SLICE_H
#define CONTEND_BENCH_COMMON_SLICE_H

#include <stdint.h>

#include "harness/contract/bench.h"

struct slice {
    uint64_t begin_ns, end_ns; /* what counts, on clock_now_ns */
};

/* Meets all workers, and begins where worker 0's clock is, or on another machine than its when all
 * have come. Errors are those of peers_gather, and -ENOMEM. */
int slice_begin(struct slice *slice, const struct bench_ctx *ctx, double share_s);

/* Which part of something from start_ns to done_ns lies in what counts: 0 to 1. */
double slice_part(const struct slice *slice, uint64_t start_ns, uint64_t done_ns);

double slice_seconds(const struct slice *slice);

#endif

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
#ifndef CONTEND_BENCH_COMMON_SLICE_H
#define CONTEND_BENCH_COMMON_SLICE_H

#include <stdint.h>

#include "harness/engine/contract/bench.h"

struct slice {
    uint64_t begin_ns, end_ns; /* the part that counts, on clock_now_ns */
};

/* Collective. The slice begins at worker 0's time; on a machine with another clock, when all
 * workers have arrived. Errors of peers_gather, and -ENOMEM. */
int slice_begin(struct slice *slice, const struct bench_ctx *ctx, double share_s);

/* The share of the time from start_ns to done_ns that counts: 0 to 1. */
double slice_part(const struct slice *slice, uint64_t start_ns, uint64_t done_ns);

double slice_seconds(const struct slice *slice);

#endif

/* Gathers numbers of which each worker may have a different count; peers_gather needs equal
 * counts. */
#ifndef CONTEND_BENCH_COMMON_GATHER_H
#define CONTEND_BENCH_COMMON_GATHER_H

#include <stddef.h>

#include "harness/engine/contract/bench.h"

/*
 * In worker 0, all[0 .. total - 1] are the n numbers of each worker, in the order of the workers;
 * elsewhere NULL and 0. Release with free. Collective; errors of peers_gather, and -ENOMEM.
 */
int gather_numbers(const struct bench_ctx *ctx, const double *mine, size_t n, double **all,
                   size_t *total);

/* Worker 0's *mine becomes the sum over all workers; the other workers' *mine becomes 0. */
int gather_sum(const struct bench_ctx *ctx, double *mine);

#endif

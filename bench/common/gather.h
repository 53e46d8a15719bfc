/* Numbers of which each worker has as many as it has, brought together: those of peers_gather are
 * as many in each. */
#ifndef CONTEND_BENCH_COMMON_GATHER_H
#define CONTEND_BENCH_COMMON_GATHER_H

#include <stddef.h>

#include "harness/contract/bench.h"

/*
 * In worker 0 all[0 .. total - 1] are the n numbers of each worker, one worker's behind the
 * other's; elsewhere NULL and 0. Release with free. Collective; errors are those of peers_gather,
 * and -ENOMEM.
 */
int gather_numbers(const struct bench_ctx *ctx, const double *mine, size_t n, double **all,
                   size_t *total);

/* Worker 0's *mine becomes the sum over all workers. */
int gather_sum(const struct bench_ctx *ctx, double *mine);

#endif

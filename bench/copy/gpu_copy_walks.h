/*
 * The chains of loads of gpu_copy (kernels/gpu/gpu_chase.h): through a GPU's own memory, another
 * GPU's or the host's. Only in builds with CUDA.
 *
 *   struct copy_walks walks = {0};
 *   rc = copy_walks_open(&walks, &shape, &filter, seed, err);
 *   copy_walks_measure(&walks, i, &job, &team, &set);      for i < walks.n
 *   copy_walks_emit(ctx, &walks, i, METRIC, &set);
 *   copy_walks_close(&walks);
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_WALKS_H
#define CONTEND_BENCH_COPY_GPU_COPY_WALKS_H

#include "bench/common/team.h"
#include "bench/copy/gpu_copy_job.h"

struct copy_walks {
    const struct copy_shape *shape;
    size_t n;
    struct copy_chase *chases; /* owned */
    double *ns;                /* per load, of each chain; owned */
    uint64_t seed;             /* of the chains */
};

/* -ENOMEM only. */
int copy_walks_open(struct copy_walks *walks, const struct copy_shape *shape,
                    const struct copy_filter *filter, uint64_t seed, struct err *err);

/* Runs on a CPU of the GPU's node. After an error, `set` no longer has the GPU. */
void copy_walks_measure(struct copy_walks *walks, size_t i, struct copy_job *job, struct team *team,
                        struct gpu_set *set);

/* Emits nothing if one of the chain's GPUs is left out. */
void copy_walks_emit(struct bench_ctx *ctx, const struct copy_walks *walks, size_t i,
                     unsigned metric, const struct gpu_set *set);

void copy_walks_close(struct copy_walks *walks);

#endif

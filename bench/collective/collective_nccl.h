/*
 * How a team of workers becomes ranks of NCCL: whose GPU is whose, the id from rank 0 to all, and
 * room for the buffers. The benchmark `collective` uses it through collective_engine.h; others that
 * need one operation among their workers use it and kernels/collective/gpu_collective.h.
 *
 *   struct gpu_collective *gc = NULL;
 *   rc = nccl_team_load(ctx);                       as nccl_team_probe does, too
 *   rc = nccl_team_probe(ctx, &local);              for itself; then collective_agree
 *   rc = nccl_team_open(ctx, local, times, &gc);    all together
 *   rc = nccl_team_allocate(ctx, gc, false, &bytes);  all together: *bytes may become less
 *   ...; gpu_collective_close(gc)
 */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_NCCL_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_NCCL_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/bench.h"

struct gpu_collective;

/* Loads NCCL, and tells the harness which. -ENOTSUP: built without CUDA, or there is none. */
int nccl_team_load(const struct bench_ctx *ctx);

/*
 * *local: 1, the worker's own GPU, or all GPUs of the machine where it is the only worker.
 * -ENOTSUP: built without CUDA, no NCCL, no GPU for this worker, one rank in all, or
 * CUDA_LAUNCH_BLOCKING, with which nothing queues.
 */
int nccl_team_probe(struct bench_ctx *ctx, unsigned *local);

/*
 * -ENOTSUP where two ranks have the same GPU; -ENODEV, -ENOMEM, -EBUSY, -EIO. `times` as times_most
 * struct gpu_collective_config. After an error *gc is NULL or what is to be closed. A GPU that
 * cannot be opened is an error of all processes; to one that cannot join the others do not return,
 * and the harness, which has its message, ends them.
 */
int nccl_team_open(struct bench_ctx *ctx, unsigned local, unsigned times,
                   struct gpu_collective **gc);

/* Buffers of *bytes, or of what fits on all GPUs, which *bytes then is; `registered` with NCCL. */
int nccl_team_allocate(struct bench_ctx *ctx, struct gpu_collective *gc, bool registered,
                       size_t *bytes);

#endif

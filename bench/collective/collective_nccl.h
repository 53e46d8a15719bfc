/*
 * Makes a team of workers the ranks of NCCL: assigns GPUs, passes the id from rank 0 to all ranks,
 * and allocates the buffers. The benchmark `collective` uses this through collective.h.
 * Benchmarks that need one operation among their workers use it directly, with
 * kernels/collective/gpu_collective.h.
 *
 *   struct gpu_collective *gc = NULL;
 *   rc = nccl_team_load(ctx);                       optional: nccl_team_probe calls it
 *   rc = nccl_team_probe(ctx, &local);              each process alone; then collective_agree
 *   rc = nccl_team_open(ctx, local, times, &gc);    all together
 *   rc = nccl_team_allocate(ctx, gc, false, &bytes);  all together: may lower bytes
 *   ...; gpu_collective_close(gc)
 */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_NCCL_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_NCCL_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/contract/bench.h"

struct gpu_collective;

/* Loads NCCL, and tells the harness its version. -ENOTSUP: no NCCL, or built without CUDA. */
int nccl_team_load(const struct bench_ctx *ctx);

/*
 * *local: 1 (the worker's own GPU), or all GPUs of the machine if it is the only worker. -ENOTSUP:
 * built without CUDA, no NCCL, no GPU for this worker, only one rank in total, or
 * CUDA_LAUNCH_BLOCKING is set, with which nothing queues.
 */
int nccl_team_probe(struct bench_ctx *ctx, unsigned *local);

/*
 * -ENOTSUP: two ranks have the same GPU; also -ENODEV, -ENOMEM, -EBUSY, -EIO. `times`: times_most
 * of struct gpu_collective_config. After an error *gc is NULL or must be closed. If a GPU cannot be
 * opened, all processes return an error. If a rank cannot join, only its process returns; the
 * harness has its message and ends the others.
 */
int nccl_team_open(struct bench_ctx *ctx, unsigned local, unsigned times,
                   struct gpu_collective **gc);

/*
 * Allocates buffers of *bytes; lowers *bytes to what fits on all GPUs. `registered`: NCCL allocates
 * and registers them.
 */
int nccl_team_allocate(struct bench_ctx *ctx, struct gpu_collective *gc, bool registered,
                       size_t *bytes);

#endif

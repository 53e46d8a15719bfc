/*
 * Collectives over NCCL by the GPUs of this process, one rank per GPU, without CUDA or NCCL types.
 *
 *   struct gpu_collective_config config = {.ranks = 4, .first = rank, .local = 1, .pci_bdf = bdf};
 *   gpu_collective_open(&config, &gc, &err);    GPUs, streams and events
 *   rank 0: gpu_collective_make_id(gc, &id, ..); give it to all ranks
 *   gpu_collective_join(gc, &id, ..);                       waits for all ranks
 *   gpu_collective_allocate(gc, bytes, false, ..);          two buffers per rank
 *   gpu_collective_prepare(gc, &call, ..);
 *   gpu_collective_enqueue(gc, iters, ..); gpu_collective_wait(gc, ..);
 *   gpu_collective_close(gc);
 *
 * Every rank enqueues the same operations in the same order. Operations run in order on one stream
 * per rank. Successive operations of one enqueue use successive places in the buffers, so that a
 * small operation does not find all its data in the caches; after the last place comes the first.
 *
 * One handle belongs to one thread. Functions that can fail return 0, or a negative errno with one
 * line in err: -ENOTSUP: NCCL cannot be used here; else the codes of gpu/gpu_common.h,
 * -EIO also for errors of NCCL. The message names the rank and its GPU. After an error only close
 * may follow.
 *
 * Source: nccl-tests, src/common.cu, for the loop, the places and the way to wait; NCCL's user
 * guide for errors ("Fault Tolerance") and graphs ("Using NCCL with CUDA Graphs").
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_H
#define CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/collective/collective_call.h"
#include "kernels/collective/nccl_api.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GPU_COLLECTIVE_BDF = 32, GPU_COLLECTIVE_NAME = 48 };

struct gpu_collective;

struct gpu_collective_config {
    unsigned ranks;             /* of all processes */
    unsigned first, local;      /* this process: ranks first .. first + local - 1 */
    const char *const *pci_bdf; /* [local]: "0000:00:06.0" */
    unsigned times_most;        /* operations that gpu_collective_time_each can time; may be 0 */
};

/* The result of a check; the fields after `wrong` describe one wrong element. */
struct gpu_collective_verdict {
    uint64_t wrong;                /* how many elements are wrong */
    unsigned rank;                 /* the last rank here with a wrong element */
    char gpu[GPU_COLLECTIVE_NAME]; /* its GPU: "GPU 1 (0000:07:00.0)" */
    uint64_t index;
    double got, want;
};

/* Loads NCCL; *version as in struct nccl_api. -ENOTSUP: err tells what was tried, and the error. */
int gpu_collective_load(int *version, struct err *err);

int gpu_collective_open(const struct gpu_collective_config *config, struct gpu_collective **gc,
                        struct err *err);
int gpu_collective_make_id(struct gpu_collective *gc, struct nccl_id *id, struct err *err);

/* Returns when all ranks have joined. Waits forever for a rank that never joins, also if its join
 * failed. */
int gpu_collective_join(struct gpu_collective *gc, const struct nccl_id *id, struct err *err);

/* The largest buffers that fit on every GPU of this process, after join. */
int gpu_collective_room(struct gpu_collective *gc, size_t *bytes, struct err *err);

/*
 * Allocates a send and a recv buffer of at least `bytes` for each rank, zeroed. Call it once.
 * `registered`: NCCL allocates and registers them (-ENOTSUP before 2.19).
 */
int gpu_collective_allocate(struct gpu_collective *gc, size_t bytes, bool registered,
                            struct err *err);

/*
 * Sets the operation for enqueue. With call->graph, captures it in two graphs: of one operation,
 * and of a batch of gpu_collective_batch operations; all ranks must then prepare together. -EINVAL:
 * call->bytes is 0 or larger than the buffers.
 */
int gpu_collective_prepare(struct gpu_collective *gc, const struct collective_call *call,
                           struct err *err);
unsigned gpu_collective_batch(const struct gpu_collective *gc);

/* With a graph, operations go one by one if `iters` is not a multiple of the batch. With
 * call->queue returns when all are done. */
int gpu_collective_enqueue(struct gpu_collective *gc, uint64_t iters, struct err *err);

/*
 * Polls the streams until they are idle. Does not yield the CPU, as frameworks do not: yielding to
 * busy threads costs milliseconds. Aborts an operation that NCCL reports as failed (a peer or a
 * link is gone): -EIO.
 */
int gpu_collective_wait(struct gpu_collective *gc, struct err *err);

/* The recv buffer of rank first + k, on its device; operation 0 of an enqueue uses its start. */
void *gpu_collective_recv_buffer(struct gpu_collective *gc, unsigned k);

/*
 * Runs `iters` operations with device events around each; the streams must be idle. [k * iters + i]
 * is operation i of rank first + k. period_us: from the end of the previous operation to the end of
 * this one. busy_us: from the event before the operation, or from when the host had launched it if
 * that was later (collective_lag.h), to its end. -EINVAL: iters > times_most.
 */
int gpu_collective_time_each(struct gpu_collective *gc, unsigned iters, float *busy_us,
                             float *period_us, struct err *err);

/*
 * For checks (kernels/collective/collective_value.h): fill; enqueue `operations` operations, one or
 * a batch; compare waits and then compares the result at each place that they used.
 */
int gpu_collective_fill(struct gpu_collective *gc, unsigned repetition, struct err *err);
int gpu_collective_compare(struct gpu_collective *gc, unsigned operations, unsigned repetition,
                           struct gpu_collective_verdict *verdict, struct err *err);

/* Frees everything; if a call has failed before, aborts work in flight. NULL-safe. */
void gpu_collective_close(struct gpu_collective *gc);

#ifdef __cplusplus
}
#endif

#endif

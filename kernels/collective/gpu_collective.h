/*
 * Collectives over NCCL by the GPUs of this process, one rank a GPU, without CUDA or NCCL types.
 *
 *   struct gpu_collective_config config = {.ranks = 4, .first = rank, .local = 1, .pci_bdf = bdf};
 *   gpu_collective_open(&config, &gc, msg, sizeof(msg));    GPUs, streams and events
 *   rank 0: gpu_collective_make_id(gc, &id, ..); give it to all ranks
 *   gpu_collective_join(gc, &id, ..);                       waits for all ranks
 *   gpu_collective_allocate(gc, bytes, false, ..);          two buffers a rank
 *   gpu_collective_prepare(gc, &call, ..);
 *   gpu_collective_enqueue(gc, iters, ..); gpu_collective_wait(gc, ..);
 *   gpu_collective_close(gc);
 *
 * Every rank enqueues the same operations in the same order. Operations run in order on one stream
 * a rank; successive ones of one enqueue move through the buffers, so that a small operation does
 * not find all its data in the caches, and then start again at the front.
 *
 * One handle belongs to one thread. Functions that can fail return 0 or a negative errno and then
 * write one line to msg (size bytes): -ENOTSUP NCCL cannot be used here, else the codes of
 * gpu/gpu_common.h, -EIO also for what NCCL reports. The message names the rank and its GPU. After
 * an error only close may follow.
 *
 * Source: nccl-tests, src/common.cu, for the loop, the moving and the way to wait; NCCL's user
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
    unsigned ranks;             /* in all */
    unsigned first, local;      /* this process: ranks first .. first + local - 1 */
    const char *const *pci_bdf; /* [local]: "0000:00:06.0" */
    unsigned times_most;        /* operations that gpu_collective_time_each can time; may be 0 */
};

/* Where the results were wrong. */
struct gpu_collective_verdict {
    uint64_t wrong;                /* elements */
    unsigned rank;                 /* of one of them, in the last rank that has any */
    char gpu[GPU_COLLECTIVE_NAME]; /* its GPU: "GPU 1 (0000:07:00.0)" */
    uint64_t index;
    double got, want;
};

/* *version as struct nccl_api has it. -ENOTSUP: what was tried, and why it failed. */
int gpu_collective_load(int *version, char *msg, size_t size);

int gpu_collective_open(const struct gpu_collective_config *config, struct gpu_collective **gc,
                        char *msg, size_t size);
int gpu_collective_make_id(struct gpu_collective *gc, struct nccl_id *id, char *msg, size_t size);

/* Returns when all ranks have joined; one that never comes is waited for without end, also where
 * its own join has failed. */
int gpu_collective_join(struct gpu_collective *gc, const struct nccl_id *id, char *msg,
                        size_t size);

/* The largest buffers that fit on every GPU of this process, after join. */
int gpu_collective_room(struct gpu_collective *gc, size_t *bytes, char *msg, size_t size);

/*
 * A send and a recv buffer of at least that many bytes for each rank, zeroed. Once. `registered`:
 * NCCL allocates them, and knows them (-ENOTSUP before 2.19).
 */
int gpu_collective_allocate(struct gpu_collective *gc, size_t bytes, bool registered, char *msg,
                            size_t size);

/*
 * Sets the operation of enqueue. With call->graph it is captured: one operation alone, and batches
 * of gpu_collective_batch; all ranks have to prepare together then.
 */
int gpu_collective_prepare(struct gpu_collective *gc, const struct collective_call *call, char *msg,
                           size_t size);
unsigned gpu_collective_batch(const struct gpu_collective *gc);

/* With a graph, what is not a multiple of the batch goes one by one. With call->queue, returns
 * when all are done. */
int gpu_collective_enqueue(struct gpu_collective *gc, uint64_t iters, char *msg, size_t size);

/*
 * Asks the streams until they are idle, and keeps the CPU meanwhile, as frameworks do: to yield it
 * to busy threads costs milliseconds.
 * When NCCL reports that an operation failed (a peer or a link is gone), aborts it: -EIO.
 */
int gpu_collective_wait(struct gpu_collective *gc, char *msg, size_t size);

/* The buffer of rank first + k, on its device; operation 0 of an enqueue starts at the front. */
void *gpu_collective_recv_buffer(struct gpu_collective *gc, unsigned k);

/*
 * `iters` operations with device events around each, begun with idle streams: at [k * iters + i],
 * of operation i of rank first + k, period_us is from the event behind the operation before to the
 * one behind it, busy_us from the one before it, or from when the host had launched it, if that was
 * later (collective_lag.h).
 */
int gpu_collective_time_each(struct gpu_collective *gc, unsigned iters, float *busy_us,
                             float *period_us, char *msg, size_t size);

/*
 * For checks (kernels/collective/collective_value.h): fill; enqueue so many operations, one or a
 * batch; compare what they have left at each place that they came to, which waits.
 */
int gpu_collective_fill(struct gpu_collective *gc, unsigned repetition, char *msg, size_t size);
int gpu_collective_compare(struct gpu_collective *gc, unsigned operations, unsigned repetition,
                           struct gpu_collective_verdict *verdict, char *msg, size_t size);

/* Frees everything; aborts what is in flight when a call has failed before. NULL-safe. */
void gpu_collective_close(struct gpu_collective *gc);

#ifdef __cplusplus
}
#endif

#endif

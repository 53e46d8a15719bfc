/*
 * Copies between host memory and GPUs and between GPUs, timed by events on the device, without CUDA
 * types. Addresses are in CUDA's unified address space: host memory, and two buffers per GPU,
 * `source` (holds a pattern after open) and `target`. Pattern: the 8-byte word at index i of a
 * buffer is mix64(i + (salt << 40)), so that all words of all buffers differ.
 *
 *   gpu_copy_open(bdfs, ngpus, bytes, &copy, &failed, err);
 *   struct gpu_copy_flow flow = {.to = gpu_copy_target(copy, 0), .from = host, .bytes = bytes,
 *                                .gpu = 0};
 *   gpu_copy_fill(copy, 0, host, bytes, salt, ...);
 *   gpu_copy_poison(copy, &flow, ...);
 *   gpu_copy_time(copy, &flow, 1, 16, &progress, ...);      16 copies, one after the other
 *   gpu_copy_check(copy, &flow, salt, ...);
 *   gpu_copy_close(copy);
 *
 * One handle belongs to one thread, and a process has one at a time. Functions that can fail
 * return 0 or a negative errno and then write one line to err, as gpu_common.h says.
 *
 * Source: the method (copies queued behind a kernel that waits for the host, so that no launch is
 * in the interval) is that of NVIDIA's nvbandwidth, memcpy.cpp and kernels.cu.
 */
#ifndef CONTEND_KERNELS_GPU_COPY_GPU_COPY_H
#define CONTEND_KERNELS_GPU_COPY_GPU_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes are multiples of GRAIN. Up to STREAMS flows can use one GPU at once. */
enum { GPU_COPY_GPUS = 64, GPU_COPY_GRAIN = 64, GPU_COPY_STREAMS = 2 };

struct gpu_copy;

/* One direction of traffic. */
struct gpu_copy_flow {
    void *to;
    const void *from;
    size_t bytes; /* per copy */
    unsigned gpu; /* the GPU whose stream issues it: an index in open's list */
    bool kernel;  /* by a kernel's loads and stores on that GPU; else by its copy engine */
    bool staged;  /* a CPU takes part: pageable memory, or GPUs without access to each other */
};

/*
 * Creates contexts, enables peer access, and allocates three buffers of `bytes` on each GPU (the
 * third is for checks), except on GPUs whose address is NULL. `bytes`: a multiple of GRAIN. After
 * an error *copy is NULL and *failed is the GPU on which it occurred, or ngpus if on none; -ENOMEM:
 * try fewer bytes.
 */
int gpu_copy_open(const char *const *pci_bdf, unsigned ngpus, size_t bytes, struct gpu_copy **copy,
                  unsigned *failed, struct err *err);

/* After an error of a call below: the GPU on which it occurred. */
unsigned gpu_copy_selected(const struct gpu_copy *copy);

/* The GPU's buffers; the salt of the pattern that the source holds. */
void *gpu_copy_source(const struct gpu_copy *copy, unsigned gpu);
uint64_t gpu_copy_salt(unsigned gpu);
void *gpu_copy_target(const struct gpu_copy *copy, unsigned gpu);

/* True if each of two GPUs can access the other's memory; true for a GPU and itself. */
bool gpu_copy_is_direct(const struct gpu_copy *copy, unsigned a, unsigned b);

/* After an open: page-locks memory for all GPUs, maps it for them, and touches missing pages. */
int gpu_copy_pin(void *base, size_t bytes, struct err *err);
void gpu_copy_unpin(void *base);

/* Page-locked, write-combined host memory: CPU reads of it are very slow. The free is NULL-safe. */
int gpu_copy_alloc_combined(size_t bytes, void **base, struct err *err);
void gpu_copy_free_combined(void *base);

/* Writes the pattern into memory of any kind, by GPU `gpu`. `bytes` <= that of open. */
int gpu_copy_fill(struct gpu_copy *copy, unsigned gpu, void *base, size_t bytes, uint64_t salt,
                  struct err *err);

/* Sets all bits in the flow's destination; no word of a pattern has all bits set. */
int gpu_copy_poison(struct gpu_copy *copy, const struct gpu_copy_flow *flow, struct err *err);

/* Compares the flow's destination with the pattern, on the device. -EBADMSG: a word is wrong. */
int gpu_copy_check(struct gpu_copy *copy, const struct gpu_copy_flow *flow, uint64_t salt,
                   struct err *err);

/*
 * The progress of a flow: copies[i] were done seconds[i] after its first copy began. The last of
 * the n marks is at the end of all copies; a single flow has only this mark.
 */
enum { GPU_COPY_MARKS = 16 };
struct gpu_copy_progress {
    unsigned n, copies[GPU_COPY_MARKS];
    double seconds[GPU_COPY_MARKS];
};

/*
 * Runs all flows at once, each `copies` times back to back, started together; progress[i] is that
 * of flow i. At most STREAMS flows per GPU (-EINVAL). -ETIME: queueing took so long that a GPU
 * began before all was queued.
 */
int gpu_copy_time(struct gpu_copy *copy, const struct gpu_copy_flow *flows, unsigned nflows,
                  unsigned copies, struct gpu_copy_progress *progress, struct err *err);

/*
 * ns[i]: host time of one copy and the wait for it, for `samples` copies. The thread spins while it
 * waits.
 */
int gpu_copy_latency(struct gpu_copy *copy, const struct gpu_copy_flow *flow, unsigned samples,
                     double *ns, struct err *err);

/* Waits for work in flight and frees everything except memory still pinned. NULL-safe. */
void gpu_copy_close(struct gpu_copy *copy);

#ifdef __cplusplus
}
#endif

#endif

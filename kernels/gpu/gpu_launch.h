/*
 * Kernels that only add one to a counter, alone and in graphs, and ways to wait for them: the cost
 * for a host to keep a GPU busy with short work. The caller reads the clock; nothing here does. The
 * counter tells whether all launched kernels ran, including the timed ones.
 *
 * One handle belongs to one thread. Functions return 0 or a code of gpu_common.h with its message.
 *
 *   gpu_launch_open("0000:00:06.0", &gpu, &err);
 *   gpu_launch_set_wait(gpu, GPU_WAIT_BLOCK, &err);
 *   gpu_launch_kernels(gpu, 1, &err);
 *   gpu_launch_wait(gpu, &err);
 *   gpu_launch_close(gpu);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_LAUNCH_H
#define CONTEND_KERNELS_GPU_GPU_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct gpu_launch;

/*
 * How the driver waits in gpu_launch_wait: by cudaDeviceScheduleSpin, ..Yield and ..BlockingSync of
 * the context. Source: CUDA Runtime API, cudaSetDeviceFlags.
 */
enum gpu_wait { GPU_WAIT_SPIN, GPU_WAIT_YIELD, GPU_WAIT_BLOCK, GPU_WAITS };

/* Graphs of one kernel, and of a chain of GPU_GRAPH_KERNELS kernels. */
enum gpu_graph { GPU_GRAPH_ONE, GPU_GRAPH_CHAIN, GPU_GRAPHS };
enum { GPU_GRAPH_KERNELS = 20 };

/* Creates the context, a stream and both graphs. *gpu is NULL after an error. */
int gpu_launch_open(const char *pci_bdf, struct gpu_launch **gpu, struct err *err);

/* -EIO also if the context does not accept the way of waiting. */
int gpu_launch_set_wait(struct gpu_launch *gpu, enum gpu_wait wait, struct err *err);

/* Queues `count` kernels, one by one. */
int gpu_launch_kernels(struct gpu_launch *gpu, unsigned count, struct err *err);

/* Queues a graph `count` times. */
int gpu_launch_graphs(struct gpu_launch *gpu, enum gpu_graph graph, unsigned count,
                      struct err *err);

/* Queues a kernel that keeps one thread of the GPU busy for delay_ns, by the GPU's timer. */
int gpu_launch_delay(struct gpu_launch *gpu, uint64_t delay_ns, struct err *err);

/* Returns when all queued work is done. */
int gpu_launch_wait(struct gpu_launch *gpu, struct err *err);

/*
 * Waits; *ran: how many kernels ran since open, alone and in graphs; *launched: how many should
 * have run. A difference between the two is no error of the call.
 */
int gpu_launch_count(struct gpu_launch *gpu, uint64_t *ran, uint64_t *launched, struct err *err);

/* Waits for what is queued and frees everything. NULL-safe. */
void gpu_launch_close(struct gpu_launch *gpu);

#ifdef __cplusplus
}
#endif

#endif

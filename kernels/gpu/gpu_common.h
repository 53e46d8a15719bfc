/*
 * Shared by the hosts of all GPU kernels, without CUDA types: which GPUs there are, and whether
 * they may be used. gpu_common.cuh has the parts that only .cu files can see.
 *
 * Functions that can fail return 0 or a negative errno and then write one line to msg (size bytes):
 * -ENODEV no driver, one too old, or no such GPU; -ENOTSUP a GPU that this build has no code for;
 * -ENOMEM no memory; -EBUSY the GPU is kept by
 * another process or closed to all; -EIO everything else that CUDA reports, after which the
 * process may close what it has, and not more.
 */
#ifndef CONTEND_KERNELS_GPU_GPU_COMMON_H
#define CONTEND_KERNELS_GPU_GPU_COMMON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* GPUs that CUDA shows this process; 0, with the reason in msg, where it shows none. */
int gpu_count(char *msg, size_t size);

/*
 * -ENOTSUP where the GPU's compute mode is "prohibited", or this build has no code for its
 * architecture. Creates no context.
 */
int gpu_check(const char *pci_bdf, char *msg, size_t size);

#ifdef __cplusplus
}
#endif

#endif

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

/*
 * Which GPUs and drivers a build serves, and the sentences that say so: gpu_reach.c, without CUDA.
 *
 * Versions are CUDA's: 12040 is 12.4. Architectures are those of __CUDA_ARCH_LIST__: 750 is 7.5.
 * Source: CUDA Toolkit Release Notes, "CUDA Toolkit and Minimum Required NVIDIA Driver Version for
 * CUDA Minor Version Compatibility"; CUDA C++ Programming Guide, "Application Compatibility".
 */

/* The least driver, by its first number: 580 for CUDA 13, 525 for 12, 450 for 11; 0 = unknown. */
int gpu_reach_driver(int runtime);

/*
 * 0, or -ENOTSUP with the reason where a GPU of compute capability `cc` (70 for 7.0) is older than
 * all `n` architectures of the build. Newer ones are served: a build carries code that the driver
 * compiles for them.
 */
int gpu_reach_check(int cc, const int *archs, size_t n, int runtime, char *msg, size_t size);

/* Why a driver that knows CUDA `driver` does not serve a program of CUDA `runtime`. Returns msg. */
char *gpu_reach_format_driver(int driver, int runtime, char *msg, size_t size);

#ifdef __cplusplus
}
#endif

#endif

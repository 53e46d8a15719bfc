/*
 * Which GPUs and drivers a build serves, and the sentences that say so. Pure: knows no CUDA.
 *
 * Versions are CUDA's: 12040 is 12.4. Architectures are those of __CUDA_ARCH_LIST__: 750 is 7.5.
 * Source: CUDA Toolkit Release Notes, "CUDA Toolkit and Minimum Required NVIDIA Driver Version for
 * CUDA Minor Version Compatibility"; CUDA C++ Programming Guide, "Application Compatibility".
 */
#ifndef CONTEND_KERNELS_GPU_GPU_REACH_H
#define CONTEND_KERNELS_GPU_GPU_REACH_H

#include <stddef.h>

/* The least driver, by its first number: 580 for CUDA 13, 525 for 12, 450 for 11; 0 = unknown. */
int gpu_reach_driver(int runtime);

/*
 * 0, or -ENOTSUP with the reason where a GPU of compute capability `cc` (70 for 7.0) is older than
 * all `n` architectures of the build. Newer ones are served: a build carries code that the driver
 * compiles for them.
 */
int gpu_reach_check(int cc, const int *archs, size_t n, int runtime, char *msg, size_t size);

/* Why a driver that knows CUDA `driver` does not serve a program of CUDA `runtime`. Returns msg. */
char *gpu_reach_say_driver(int driver, int runtime, char *msg, size_t size);

#endif

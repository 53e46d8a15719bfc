/*
 * Shared by the host code of all GPU kernels, without CUDA types: which GPUs exist, and whether
 * they can be used. gpu_common.cuh has the parts that only .cu files can include.
 *
 * Functions that can fail return 0, or a negative errno with one line in err: -ENODEV:
 * no driver, driver too old, or no such GPU; -ENOTSUP: this build has no code for the GPU; -ENOMEM:
 * no memory; -EBUSY: another process has the GPU exclusively, or its compute mode is prohibited;
 * -EIO: any other error of CUDA, after which the process may only close what it has opened.
 */
#ifndef CONTEND_KERNELS_GPU_GPU_COMMON_H
#define CONTEND_KERNELS_GPU_GPU_COMMON_H

#include <stddef.h>

#include "harness/lib/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many GPUs CUDA shows this process; 0: none, with the reason in err. */
int gpu_count(struct err *err);

/*
 * -ENOTSUP: the GPU's compute mode is "prohibited", or this build has no code for its architecture.
 * Creates no context.
 */
int gpu_check(const char *pci_bdf, struct err *err);

/*
 * Which GPUs and drivers a build supports, and the messages about them: gpu_reach.c, without CUDA.
 *
 * Versions are CUDA's: 12040 is 12.4. Architectures are those of __CUDA_ARCH_LIST__: 750 is 7.5.
 * Source: CUDA Toolkit Release Notes, "CUDA Toolkit and Minimum Required NVIDIA Driver Version for
 * CUDA Minor Version Compatibility"; CUDA C++ Programming Guide, "Application Compatibility".
 */

/* The oldest driver, by its first number: 580 for CUDA 13, 525 for 12, 450 for 11; 0 = unknown. */
int gpu_reach_driver(int runtime);

/*
 * 0, or -ENOTSUP with the reason if a GPU of compute capability `cc` (70 for 7.0) is older than all
 * `n` architectures of the build. Newer GPUs are supported: the driver compiles the build's PTX
 * code for them.
 */
int gpu_reach_check(int cc, const int *archs, size_t n, int runtime, struct err *err);

/* Why a driver for CUDA `driver` does not support a program of CUDA `runtime`. -ENOTSUP. */
int gpu_reach_refuse_driver(int driver, int runtime, struct err *err);

#ifdef __cplusplus
}
#endif

#endif

/*
 * CUDA's errors as error codes, and a GPU by its PCI address, for .cu files. gpu_common.h lists the
 * codes.
 *
 *   rc = gpu_open("0000:00:06.0", cudaDeviceScheduleSpin, &cuda_ordinal, err);
 *   if (!rc)
 *       rc = gpu_checked(cudaMalloc(&buffer, bytes), "GPU buffer", err);
 */
#ifndef CONTEND_KERNELS_GPU_GPU_COMMON_CUH
#define CONTEND_KERNELS_GPU_GPU_COMMON_CUH

#include <cstddef>

#include <cuda_runtime.h>

#include "kernels/gpu/gpu_common.h"

/* Writes "what: CUDA's text (its name)" and returns the code; clears the runtime's last error. */
int gpu_fail(cudaError_t error, const char *what, struct err *err);

/* 0, or gpu_fail. */
int gpu_checked(cudaError_t error, const char *what, struct err *err);

/* CUDA's number of the GPU at a PCI address; NULL or "": 0. Creates no context. */
int gpu_find(const char *pci_bdf, int *cuda_ordinal, struct err *err);

/* Makes it the calling thread's GPU, and creates its context; `flags`: of cudaSetDeviceFlags. */
int gpu_open(const char *pci_bdf, unsigned flags, int *cuda_ordinal, struct err *err);

#endif

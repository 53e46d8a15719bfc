/*
 * The matrices of gpu_matmul.h on the device, for .cu files: their fill, and the residuals of a
 * product (gpu_matmul_freivalds.h). The caller's current GPU must be the one that holds them.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_DATA_CUH
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_DATA_CUH

#include <cstddef>
#include <cstdint>

#include <cuda_runtime.h>

#include "kernels/matmul/gpu_matmul_freivalds.h"

struct matmul_data {
    enum matmul_type type;
    struct matmul_shape shape;
    uint64_t seed;
    void *a, *b, *c;
    void *scratch; /* for residuals; 64 MiB is enough for the largest shape */
    size_t scratch_bytes;
    cudaStream_t stream;
};

/* Queues the fill of A and B. */
cudaError_t matmul_data_fill(const struct matmul_data *data);

/* Adds the residuals of C, which must not be written meanwhile. 0 or a code of gpu_common.h. */
int matmul_data_residuals(const struct matmul_data *data, struct freivalds *sums, struct err *err);

#endif

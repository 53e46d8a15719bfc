/*
 * The matrices of gpu_matmul.h on the device: their fill, and the residuals of a product
 * (gpu_matmul_freivalds.h); for .cu files. The caller's GPU is the one they are on.
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
    void *scratch; /* for the residuals; 64 MiB do for the largest shape */
    size_t scratch_bytes;
    cudaStream_t stream;
};

/* Queues the fill of A and B. */
cudaError_t matmul_data_fill(const struct matmul_data *data);

/* Residuals of C, which nothing writes meanwhile. 0 or a code of gpu_common.h. */
int matmul_data_residuals(const struct matmul_data *data, struct freivalds *sums, char *msg,
                          size_t size);

#endif

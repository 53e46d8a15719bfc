/* Fills and checks buffers of collectives on the device, for all types; see collective_value.h. */
#ifndef CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_DATA_CUH
#define CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_DATA_CUH

#include <cuda_runtime.h>

extern "C" {
#include "kernels/collective/collective_call.h"
}

/* Identifies the data of one rank in one call. */
struct gpu_collective_side {
    struct collective_call call;
    unsigned rank, ranks, repetition;
};

/* All zero: nothing is wrong. `index`, `got` and `want` are those of one wrong element. */
struct gpu_collective_found {
    unsigned long long wrong, index;
    double got, want;
};

/* Sets buffer[i] to what the rank sends, for i < n, on the current device. */
cudaError_t gpu_collective_put_sent(const struct gpu_collective_side *side, void *buffer, size_t n,
                                    cudaStream_t stream);

/* Compares buffer[i] with the expected value, for i < n; adds to *found, which is on the device. */
cudaError_t gpu_collective_find_wrong(const struct gpu_collective_side *side, const void *buffer,
                                      size_t n, struct gpu_collective_found *found,
                                      cudaStream_t stream);

#endif

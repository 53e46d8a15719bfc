/* Inputs and checks of collectives on the device, of any type; see collective_value.h. */
#ifndef CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_DATA_CUH
#define CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_DATA_CUH

#include <cuda_runtime.h>

extern "C" {
#include "kernels/collective/collective_call.h"
}

/* Whose data it is. */
struct gpu_collective_side {
    struct collective_call call;
    unsigned rank, ranks, repetition;
};

/* Zeroed = nothing is wrong. `index`, `got` and `want` are of one wrong element. */
struct gpu_collective_found {
    unsigned long long wrong, index;
    double got, want;
};

/* buffer[i] = what the rank sends, for i < n, on the current device. */
cudaError_t gpu_collective_put_sent(const struct gpu_collective_side *side, void *buffer, size_t n,
                                    cudaStream_t stream);

/* Compares buffer[i] with what is expected, for i < n; adds to *found, on the device too.
 */
cudaError_t gpu_collective_find_wrong(const struct gpu_collective_side *side, const void *buffer,
                                      size_t n, struct gpu_collective_found *found,
                                      cudaStream_t stream);

#endif

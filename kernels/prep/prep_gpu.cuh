/* Queues prep_gpu.h's kernels, for .cu files. */
#ifndef CONTEND_KERNELS_PREP_PREP_GPU_CUH
#define CONTEND_KERNELS_PREP_PREP_GPU_CUH

#include <cuda_runtime.h>

#include "kernels/prep/prep_gpu.h"

/* Queues five kernels in the stream. `in` is rows x cols; all arrays are in GPU memory. */
cudaError_t prep_gpu_queue(const struct prep_gpu_params *params, const float *in,
                           const struct prep_gpu_arrays *out, cudaStream_t stream);

#endif

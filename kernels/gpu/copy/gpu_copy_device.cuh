/* Shared by gpu_copy.cu and gpu_copy_data.cu: the handle, and constants of kernel launches. */
#ifndef CONTEND_KERNELS_GPU_COPY_GPU_COPY_DEVICE_CUH
#define CONTEND_KERNELS_GPU_COPY_GPU_COPY_DEVICE_CUH

#include "kernels/gpu/copy/gpu_copy.h"
#include "kernels/gpu/gpu_common.cuh"

/* Two blocks per SM, with 8 loads of 16 bytes in flight per thread, saturate any link. */
enum { BLOCK_THREADS = 512, BLOCKS_PER_SM = 2, UNROLL = 8 };

enum { SOURCE, TARGET, SCRATCH, BUFFERS };

struct gpu_copy_device {
    int ordinal;
    unsigned blocks; /* of a grid that fills the GPU */
    cudaStream_t stream[GPU_COPY_STREAMS];
    cudaEvent_t begin[GPU_COPY_STREAMS];
    cudaEvent_t mark[GPU_COPY_STREAMS][GPU_COPY_MARKS]; /* between copies, and after the last */
    char *buffer[BUFFERS];
    unsigned long long *wrong; /* on the device: index of the first wrong word */
};

struct gpu_copy {
    unsigned ngpus;
    size_t bytes;      /* of a buffer */
    unsigned selected; /* the GPU selected last; after an error, the one on which it occurred */
    int *latch;        /* in host memory that all GPUs read: 0 holds the streams */
    int *expired;      /* after the latch, by GPU: 1 = a stream was held for too long */
    struct gpu_copy_device device[GPU_COPY_GPUS];
    bool reaches[GPU_COPY_GPUS][GPU_COPY_GPUS]; /* [a][b]: GPU a can access the memory of b */
};

/* Makes a GPU the calling thread's, and the result of gpu_copy_selected. */
static inline cudaError_t gpu_copy_select(struct gpu_copy *copy, unsigned gpu)
{
    copy->selected = gpu;
    return cudaSetDevice(copy->device[gpu].ordinal);
}

/* Loads the code of gpu_copy_data.cu's kernels on the calling thread's GPU. */
cudaError_t gpu_copy_data_load();

#endif

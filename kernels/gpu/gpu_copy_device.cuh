/* Shared by the two parts of gpu_copy.h: the handle, and kernels' launches; for those .cu files. */
#ifndef CONTEND_KERNELS_GPU_GPU_COPY_DEVICE_CUH
#define CONTEND_KERNELS_GPU_GPU_COPY_DEVICE_CUH

#include "kernels/gpu/gpu_common.cuh"
#include "kernels/gpu/gpu_copy.h"

/* Two blocks a multiprocessor with 8 loads of 16 bytes a thread in flight keep any link busy. */
enum { BLOCK_THREADS = 512, BLOCKS_PER_SM = 2, UNROLL = 8 };

enum { SOURCE, TARGET, SCRATCH, BUFFERS };

struct gpu_copy_device {
    int ordinal;
    unsigned blocks; /* of a grid that fills the GPU */
    cudaStream_t stream[GPU_COPY_STREAMS];
    cudaEvent_t begin[GPU_COPY_STREAMS];
    cudaEvent_t mark[GPU_COPY_STREAMS][GPU_COPY_MARKS]; /* between copies, and behind the last */
    char *buffer[BUFFERS];
    unsigned long long *wrong; /* on the device: index of the first wrong word */
};

struct gpu_copy {
    unsigned ngpus;
    size_t bytes; /* of a buffer */
    unsigned at;  /* the GPU that was turned to last */
    int *latch;   /* in host memory that all GPUs read: 0 holds streams up */
    int *expired; /* behind it, by GPU: 1 where a stream was held for too long */
    struct gpu_copy_device device[GPU_COPY_GPUS];
    bool reaches[GPU_COPY_GPUS][GPU_COPY_GPUS]; /* the first can access the second's memory */
};

/* Makes a GPU the calling thread's, and the one that gpu_copy_at names. */
static inline cudaError_t gpu_copy_turn_to(struct gpu_copy *copy, unsigned gpu)
{
    copy->at = gpu;
    return cudaSetDevice(copy->device[gpu].ordinal);
}

/* Loads the code of gpu_copy_data.cu's kernels on the calling thread's GPU. */
cudaError_t gpu_copy_data_load();

#endif

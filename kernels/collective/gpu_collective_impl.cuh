/* Shared by gpu_collective.cu (the ranks) and gpu_collective_run.cu (their operations). */
#ifndef CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_IMPL_CUH
#define CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_IMPL_CUH

#include <cuda_runtime.h>

extern "C" {
#include "kernels/collective/collective_lag.h"
#include "kernels/collective/gpu_collective.h"
}
#include "kernels/collective/gpu_collective_data.cuh"

/* Graphs of a call: of a batch, and of a single operation. */
enum { GRAPH_BATCH, GRAPH_ONE, GRAPHS, BATCH_OPERATIONS = 16 /* at most */ };

struct gpu_collective_rank {
    int cuda_ordinal; /* -1: not yet known */
    char pci_bdf[GPU_COLLECTIVE_BDF];
    void *comm; /* ncclComm_t */
    cudaStream_t stream;
    char *send, *recv;
    void *handles[2];           /* of send and recv if they are registered */
    cudaEvent_t *begin, *end;   /* [times_most] each */
    cudaEvent_t clock_event[2]; /* before the first and after the last timed operation */
    struct collective_clock_pair clock_pairs[2]; /* comparisons of clocks at these two events */
    struct gpu_collective_found *found;          /* on the device */
    struct gpu_collective_found *found_copy;     /* its copy, page-locked */
    cudaGraph_t captured;                        /* only while a graph is made */
    cudaGraphExec_t graph[GRAPHS];
};

struct gpu_collective {
    const struct nccl_api *nccl;
    unsigned ranks, first, local;
    unsigned times_most;
    uint64_t *launched_ns; /* [times_most], host's clock */
    size_t bytes;          /* of each buffer */
    bool registered;       /* NCCL has allocated the buffers */
    bool failed;
    struct collective_call call;
    int type;                /* ncclDataType_t of the call */
    size_t send_at, recv_at; /* in place: the offset of a rank's buffer is this times the rank */
    uint64_t steps;          /* number of places in the buffers */
    unsigned batch;          /* operations in GRAPH_BATCH; 1 without a graph */
    struct gpu_collective_rank *rank; /* [local] */
};

/*
 * Write a message that names rank first + k and its GPU, and return a negative errno; 0 if the code
 * is success. k = local: an error of all ranks here, not of a particular one.
 */
int gpu_collective_cuda(struct gpu_collective *gc, unsigned k, cudaError_t error, const char *what,
                        struct err *err);
int gpu_collective_nccl(struct gpu_collective *gc, unsigned k, int error, const char *what,
                        struct err *err);

/* The GPU of rank first + k, "GPU 1 (0000:07:00.0)": CUDA's number and PCI address. */
void gpu_collective_name(const struct gpu_collective *gc, unsigned k, char *name, size_t size);

/* Enqueues operation i on all ranks here, for gpu_collective_time_each. */
int gpu_collective_issue(struct gpu_collective *gc, uint64_t i, struct err *err);

/* Destroys the graphs of the last call. */
void gpu_collective_drop_graphs(struct gpu_collective *gc);

#endif

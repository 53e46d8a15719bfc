/* Shared by gpu_collective.cu (the ranks) and gpu_collective_run.cu (their operations). */
#ifndef CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_IMPL_CUH
#define CONTEND_KERNELS_COLLECTIVE_GPU_COLLECTIVE_IMPL_CUH

#include <cuda_runtime.h>

extern "C" {
#include "kernels/collective/collective_lag.h"
#include "kernels/collective/gpu_collective.h"
}
#include "kernels/collective/gpu_collective_data.cuh"

/* Graphs of a call: a batch, and an operation alone. */
enum { GRAPH_BATCH, GRAPH_ONE, GRAPHS, BATCH_OPERATIONS = 16 /* at most */ };

struct gpu_collective_rank {
    int cuda_ordinal; /* -1 = not known yet */
    char pci_bdf[GPU_COLLECTIVE_BDF];
    void *comm; /* ncclComm_t */
    cudaStream_t stream;
    char *send, *recv;
    void *handles[2];                   /* of the two where they are registered */
    cudaEvent_t *begin, *end;           /* [times_most] each */
    cudaEvent_t look[2];                /* before the first and behind the last of them, .. */
    struct collective_look looks[2];    /* .. and when that was */
    struct gpu_collective_found *found; /* on the device */
    struct gpu_collective_found *seen;  /* its copy, page-locked */
    cudaGraph_t captured;               /* while graphs are made */
    cudaGraphExec_t graph[GRAPHS];
};

struct gpu_collective {
    const struct nccl_api *nccl;
    unsigned ranks, first, local;
    unsigned times_most;
    uint64_t *launched_ns; /* [times_most], of the host */
    size_t bytes;          /* of each buffer */
    bool registered;       /* NCCL's memory */
    bool failed;
    struct collective_call call;
    int type;                /* ncclDataType_t of the call */
    size_t send_at, recv_at; /* in-place operations: bytes a rank's number moves the buffer by */
    uint64_t steps;          /* places in the buffers */
    unsigned batch;          /* operations of GRAPH_BATCH; 1 without a graph */
    struct gpu_collective_rank *rank; /* [local] */
};

/*
 * They write the message, which names rank first + k and its GPU, and return the errno; 0 where the
 * code says success. k = local: of all ranks here, and none in particular.
 */
int gpu_collective_cuda(struct gpu_collective *gc, unsigned k, cudaError_t error, const char *what,
                        char *msg, size_t size);
int gpu_collective_nccl(struct gpu_collective *gc, unsigned k, int error, const char *what,
                        char *msg, size_t size);

/* "GPU 1 (0000:07:00.0)", of rank first + k: CUDA's number and the PCI address. */
void gpu_collective_name(const struct gpu_collective *gc, unsigned k, char *name, size_t size);

/* Operation i of those that are timed one by one, on all ranks. */
int gpu_collective_issue(struct gpu_collective *gc, uint64_t i, char *msg, size_t size);

/* Destroys the graphs of the last call. */
void gpu_collective_drop_graphs(struct gpu_collective *gc);

#endif

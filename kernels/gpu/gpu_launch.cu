#include "kernels/gpu/gpu_launch.h"

#include <cerrno>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"

struct gpu_launch {
    int cuda_ordinal;
    cudaStream_t stream;
    cudaGraphExec_t graph[GPU_GRAPHS];
    unsigned long long *counter; /* on the device: kernels that ran */
    uint64_t launched;           /* kernels, since the counter was 0 */
};

static const unsigned wait_flags[GPU_WAITS] = {cudaDeviceScheduleSpin, cudaDeviceScheduleYield,
                                               cudaDeviceScheduleBlockingSync};

/* Ignores the result of atomicAdd, so the thread need not wait for it. */
static __global__ void touch(unsigned long long *counter)
{
    atomicAdd(counter, 1ull);
}

__device__ static unsigned long long device_ns(void)
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

static __global__ void delay(unsigned long long delay_ns)
{
    unsigned long long start = device_ns();
    while (device_ns() - start < delay_ns)
        ;
}

static cudaError_t queue_kernels(struct gpu_launch *gpu, unsigned count)
{
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < count && error == cudaSuccess; i++) {
        touch<<<1, 1, 0, gpu->stream>>>(gpu->counter);
        error = cudaGetLastError();
    }
    return error;
}

/* Captures the kernels into a graph; does not run them. */
static cudaError_t make_graph(struct gpu_launch *gpu, unsigned kernels, cudaGraphExec_t *made)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess)
        return error;
    error = queue_kernels(gpu, kernels);
    cudaError_t ended = cudaStreamEndCapture(gpu->stream, &graph);
    error = error == cudaSuccess ? ended : error;
    if (error == cudaSuccess)
        error = cudaGraphInstantiateWithFlags(made, graph, 0);
    if (graph)
        (void)cudaGraphDestroy(graph);
    return error;
}

static unsigned kernels_of(enum gpu_graph graph)
{
    return graph == GPU_GRAPH_ONE ? 1 : GPU_GRAPH_KERNELS;
}

static int open_all(struct gpu_launch *gpu, const char *pci_bdf, struct err *err)
{
    int rc = gpu_open(pci_bdf, wait_flags[GPU_WAIT_SPIN], &gpu->cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "stream",
                         err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->counter, sizeof(*gpu->counter)), "counter", err);
    if (!rc)
        rc = gpu_checked(cudaMemsetAsync(gpu->counter, 0, sizeof(*gpu->counter), gpu->stream),
                         "counter", err);
    /* Once outside of a graph: the kernel's code is loaded at its first launch. */
    if (!rc)
        rc = gpu_launch_kernels(gpu, 1, err);
    for (int i = 0; i < GPU_GRAPHS && !rc; i++)
        rc = gpu_checked(make_graph(gpu, kernels_of((enum gpu_graph)i), &gpu->graph[i]),
                         "graph of kernels", err);
    return rc ? rc : gpu_launch_wait(gpu, err);
}

int gpu_launch_open(const char *pci_bdf, struct gpu_launch **gpu, struct err *err)
{
    *gpu = NULL;
    struct gpu_launch *opened = (struct gpu_launch *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of a GPU");
    }
    int rc = open_all(opened, pci_bdf, err);
    if (rc)
        gpu_launch_close(opened);
    else
        *gpu = opened;
    return rc;
}

/* Makes it the calling thread's GPU; costs almost nothing if it already is. */
static int select_device(const struct gpu_launch *gpu, struct err *err)
{
    return gpu_checked(cudaSetDevice(gpu->cuda_ordinal), "cannot use the GPU", err);
}

int gpu_launch_set_wait(struct gpu_launch *gpu, enum gpu_wait wait, struct err *err)
{
    unsigned flags = 0;
    int rc = select_device(gpu, err);
    if (!rc)
        rc =
            gpu_checked(cudaSetDeviceFlags(wait_flags[wait]), "cannot set the way of waiting", err);
    if (!rc)
        rc = gpu_checked(cudaGetDeviceFlags(&flags), "cannot read the way of waiting", err);
    if (rc || (flags & cudaDeviceScheduleMask) == wait_flags[wait])
        return rc;
    return err_set(err, -EIO, "the context waits by flags %#x, not by %#x as it was told",
                   flags & (unsigned)cudaDeviceScheduleMask, wait_flags[wait]);
}

int gpu_launch_kernels(struct gpu_launch *gpu, unsigned count, struct err *err)
{
    gpu->launched += count;
    return gpu_checked(queue_kernels(gpu, count), "launch of a kernel", err);
}

int gpu_launch_graphs(struct gpu_launch *gpu, enum gpu_graph graph, unsigned count, struct err *err)
{
    cudaError_t error = cudaSuccess;
    gpu->launched += (uint64_t)count * kernels_of(graph);
    for (unsigned i = 0; i < count && error == cudaSuccess; i++)
        error = cudaGraphLaunch(gpu->graph[graph], gpu->stream);
    return gpu_checked(error, "launch of a graph", err);
}

int gpu_launch_delay(struct gpu_launch *gpu, uint64_t delay_ns, struct err *err)
{
    delay<<<1, 1, 0, gpu->stream>>>(delay_ns);
    return gpu_checked(cudaGetLastError(), "launch of a delay", err);
}

int gpu_launch_wait(struct gpu_launch *gpu, struct err *err)
{
    return gpu_checked(cudaStreamSynchronize(gpu->stream), "wait for the GPU", err);
}

int gpu_launch_count(struct gpu_launch *gpu, uint64_t *ran, uint64_t *launched, struct err *err)
{
    unsigned long long count = 0;
    int rc = select_device(gpu, err);
    if (!rc)
        rc = gpu_checked(cudaMemcpyAsync(&count, gpu->counter, sizeof(count),
                                         cudaMemcpyDeviceToHost, gpu->stream),
                         "counting of kernels", err);
    if (!rc)
        rc = gpu_launch_wait(gpu, err);
    *ran = count;
    *launched = gpu->launched;
    return rc;
}

void gpu_launch_close(struct gpu_launch *gpu)
{
    if (!gpu)
        return;
    (void)cudaSetDevice(gpu->cuda_ordinal);
    if (gpu->stream)
        (void)cudaStreamSynchronize(gpu->stream);
    for (int i = 0; i < GPU_GRAPHS; i++)
        if (gpu->graph[i])
            (void)cudaGraphExecDestroy(gpu->graph[i]);
    (void)cudaFree(gpu->counter);
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    free(gpu);
}

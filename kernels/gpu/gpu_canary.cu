#include "kernels/gpu/gpu_canary.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"

enum { THREADS = 256, STEPS = 1 << 18, UNROLLED = 16 };

static const uint32_t factor = 1664525u, summand = 1013904223u;

struct gpu_canary {
    int cuda_ordinal;
    unsigned blocks; /* one per SM */
    cudaStream_t stream;
    cudaEvent_t begin, end;
    uint32_t *ends;             /* on the device, by thread: the result */
    unsigned long long *cycles; /* on the device, by block */
    uint32_t *host_ends;
    unsigned long long *host_cycles;
};

/* volatile: the compiler must not fold steps or move them past the clock. */
static __global__ void run_chain(uint32_t factor, uint32_t summand, uint32_t *ends,
                                 unsigned long long *cycles)
{
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x, x = thread;
    long long begin = clock64();
    for (int step = 0; step < STEPS; step += UNROLLED) {
#pragma unroll
        for (int i = 0; i < UNROLLED; i++)
            asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(factor), "r"(summand));
    }
    long long end = clock64();
    ends[thread] = x;
    if (threadIdx.x == 0)
        cycles[blockIdx.x] = (unsigned long long)(end - begin);
}

static int open_all(struct gpu_canary *gpu, const char *pci_bdf, struct err *err)
{
    int sms = 0;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &gpu->cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(
            cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, gpu->cuda_ordinal),
            "number of SMs", err);
    if (rc)
        return rc;
    gpu->blocks = (unsigned)sms;
    size_t threads = (size_t)gpu->blocks * THREADS;
    gpu->host_ends = (uint32_t *)calloc(threads, sizeof(*gpu->host_ends));
    gpu->host_cycles = (unsigned long long *)calloc(gpu->blocks, sizeof(*gpu->host_cycles));
    if (!gpu->host_ends || !gpu->host_cycles) {
        return err_set(err, -ENOMEM, "cannot allocate the numbers of %zu threads", threads);
    }
    rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "stream", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreateWithFlags(&gpu->begin, cudaEventDefault), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreateWithFlags(&gpu->end, cudaEventBlockingSync), "event", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->ends, threads * sizeof(*gpu->ends)), "GPU buffer", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->cycles, gpu->blocks * sizeof(*gpu->cycles)), "GPU buffer",
                         err);
    return rc;
}

int gpu_canary_open(const char *pci_bdf, struct gpu_canary **gpu, struct err *err)
{
    *gpu = NULL;
    struct gpu_canary *opened = (struct gpu_canary *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of a GPU");
    }
    int rc = open_all(opened, pci_bdf, err);
    if (rc)
        gpu_canary_close(opened);
    else
        *gpu = opened;
    return rc;
}

/* Poisons the results first, so that a kernel that did not run is noticed. */
static cudaError_t queue_run(struct gpu_canary *gpu)
{
    size_t bytes = (size_t)gpu->blocks * THREADS * sizeof(*gpu->ends);
    cudaError_t error = cudaMemsetAsync(gpu->ends, 0xff, bytes, gpu->stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(gpu->begin, gpu->stream);
    if (error != cudaSuccess)
        return error;
    run_chain<<<gpu->blocks, THREADS, 0, gpu->stream>>>(factor, summand, gpu->ends, gpu->cycles);
    error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaEventRecord(gpu->end, gpu->stream);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(gpu->host_cycles, gpu->cycles, gpu->blocks * sizeof(*gpu->host_cycles),
                            cudaMemcpyDeviceToHost, gpu->stream);
    return error;
}

int gpu_canary_run(struct gpu_canary *gpu, double *seconds, double *cycles, struct err *err)
{
    float ms = 0;
    unsigned long long most = 0;
    int rc = gpu_checked(queue_run(gpu), "launch of a kernel", err);
    if (!rc)
        rc = gpu_checked(cudaStreamSynchronize(gpu->stream), "wait for the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaEventElapsedTime(&ms, gpu->begin, gpu->end), "time of a kernel", err);
    for (unsigned i = 0; i < gpu->blocks && !rc; i++)
        most = gpu->host_cycles[i] > most ? gpu->host_cycles[i] : most;
    *seconds = (double)ms * 1e-3;
    *cycles = (double)most;
    return rc;
}

/* The map x -> a x + c applied 2^k times is again such a map: square and multiply. */
static uint32_t expect(uint32_t x)
{
    uint32_t a = factor, c = summand;
    for (unsigned steps = STEPS; steps; steps >>= 1) {
        if (steps & 1)
            x = x * a + c;
        c += a * c;
        a *= a;
    }
    return x;
}

int gpu_canary_check(struct gpu_canary *gpu, unsigned *wrong, struct err *err)
{
    unsigned threads = gpu->blocks * THREADS;
    *wrong = 0;
    int rc =
        gpu_checked(cudaMemcpyAsync(gpu->host_ends, gpu->ends, threads * sizeof(*gpu->host_ends),
                                    cudaMemcpyDeviceToHost, gpu->stream),
                    "copy of the results", err);
    if (!rc)
        rc = gpu_checked(cudaStreamSynchronize(gpu->stream), "wait for the GPU", err);
    for (unsigned i = 0; i < threads && !rc; i++)
        *wrong += gpu->host_ends[i] != expect(i);
    return rc;
}

void gpu_canary_close(struct gpu_canary *gpu)
{
    if (!gpu)
        return;
    (void)cudaSetDevice(gpu->cuda_ordinal);
    if (gpu->stream)
        (void)cudaStreamSynchronize(gpu->stream);
    if (gpu->begin)
        (void)cudaEventDestroy(gpu->begin);
    if (gpu->end)
        (void)cudaEventDestroy(gpu->end);
    (void)cudaFree(gpu->ends);
    (void)cudaFree(gpu->cycles);
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    free(gpu->host_ends);
    free(gpu->host_cycles);
    free(gpu);
}

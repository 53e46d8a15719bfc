#include "kernels/gpu/gpu_memory.h"

#include <cerrno>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"

enum { THREADS = 256, BLOCKS_PER_SM = 8, RECORDS = 64 };

/* On the device. */
struct records {
    unsigned long long words;
    struct {
        unsigned long long at_byte, expected, actual;
    } first[RECORDS];
};

struct gpu_memory {
    int cuda_ordinal;
    unsigned blocks;
    uint64_t bytes;
    ulonglong2 *base;
    struct records *records;
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static __device__ void compare(unsigned long long actual, unsigned long long expected, uint64_t i,
                               struct records *records)
{
    if (actual == expected)
        return;
    unsigned long long n = atomicAdd(&records->words, 1ull);
    if (n < RECORDS)
        records->first[n] = {i * sizeof(actual), expected, actual};
}

/* Expects the pattern XOR `flip`. With CHECKS and WRITES, writes the complement after the check. */
template <bool CHECKS, bool WRITES>
static __global__ void __launch_bounds__(THREADS)
    walk(ulonglong2 *base, uint64_t pairs, enum gpu_memory_pattern pattern, uint64_t seed,
         unsigned long long flip, struct records *records)
{
    uint64_t step = (uint64_t)gridDim.x * THREADS;
    for (uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x; i < pairs; i += step) {
        unsigned long long a = gpu_memory_word(pattern, seed, 2 * i) ^ flip;
        unsigned long long b = gpu_memory_word(pattern, seed, 2 * i + 1) ^ flip;
        if (CHECKS) {
            ulonglong2 actual = __ldcs(base + i);
            compare(actual.x, a, 2 * i, records);
            compare(actual.y, b, 2 * i + 1, records);
            a = ~a;
            b = ~b;
        }
        if (WRITES)
            __stcs(base + i, make_ulonglong2(a, b));
    }
}

static int choose_bytes(struct gpu_memory *gpu, uint64_t bytes, struct err *err)
{
    size_t free_bytes = 0, total = 0;
    const uint64_t reserve = 1ull << 30;
    gpu->bytes = bytes;
    if (bytes)
        return 0;
    int rc = gpu_checked(cudaMemGetInfo(&free_bytes, &total), "free memory", err);
    if (rc)
        return rc;
    uint64_t most = free_bytes - free_bytes / 50;
    gpu->bytes = most > 2 * reserve ? most - reserve : most / 2;
    return 0;
}

/* Free memory may be fragmented: tries less, down to half. */
static int allocate(struct gpu_memory *gpu, struct err *err)
{
    cudaError_t error;
    uint64_t least = gpu->bytes / 2;
    do {
        gpu->bytes -= gpu->bytes % GPU_MEMORY_GRAIN;
        error = gpu->bytes ? cudaMalloc(&gpu->base, gpu->bytes) : cudaErrorMemoryAllocation;
        if (error == cudaErrorMemoryAllocation) {
            (void)cudaGetLastError();
            gpu->bytes -= gpu->bytes / 8;
        }
    } while (error == cudaErrorMemoryAllocation && gpu->bytes > least);
    return gpu_checked(error, "memory to be tested", err);
}

static int open_all(struct gpu_memory *gpu, const char *pci_bdf, uint64_t bytes, struct err *err)
{
    int processors = 0;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &gpu->cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(
            cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, gpu->cuda_ordinal),
            "processors of the GPU", err);
    gpu->blocks = BLOCKS_PER_SM * (unsigned)processors;
    if (!rc)
        rc = choose_bytes(gpu, bytes, err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->records, sizeof(*gpu->records)), "counters", err);
    if (!rc)
        rc = allocate(gpu, err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "stream",
                         err);
    if (!rc)
        rc =
            gpu_checked(cudaEventCreateWithFlags(&gpu->begin, cudaEventBlockingSync), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreateWithFlags(&gpu->end, cudaEventBlockingSync), "event", err);
    return rc;
}

int gpu_memory_open(const char *pci_bdf, uint64_t bytes, struct gpu_memory **gpu, struct err *err)
{
    *gpu = NULL;
    struct gpu_memory *opened = (struct gpu_memory *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of a GPU");
    }
    int rc = open_all(opened, pci_bdf, bytes, err);
    if (rc)
        gpu_memory_close(opened);
    else
        *gpu = opened;
    return rc;
}

uint64_t gpu_memory_bytes(const struct gpu_memory *gpu)
{
    return gpu->bytes;
}

static cudaError_t queue_pass(struct gpu_memory *gpu, enum gpu_memory_pattern pattern,
                              uint64_t seed)
{
    uint64_t pairs = gpu->bytes / sizeof(*gpu->base);
    cudaError_t error = cudaMemsetAsync(gpu->records, 0, sizeof(*gpu->records), gpu->stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(gpu->begin, gpu->stream);
    if (error != cudaSuccess)
        return error;
    walk<false, true><<<gpu->blocks, THREADS, 0, gpu->stream>>>(gpu->base, pairs, pattern, seed, 0,
                                                                gpu->records);
    walk<true, true><<<gpu->blocks, THREADS, 0, gpu->stream>>>(gpu->base, pairs, pattern, seed, 0,
                                                               gpu->records);
    walk<true, false><<<gpu->blocks, THREADS, 0, gpu->stream>>>(gpu->base, pairs, pattern, seed,
                                                                ~0ull, gpu->records);
    error = cudaGetLastError();
    return error == cudaSuccess ? cudaEventRecord(gpu->end, gpu->stream) : error;
}

int gpu_memory_queue(struct gpu_memory *gpu, enum gpu_memory_pattern pattern, uint64_t seed,
                     struct err *err)
{
    int rc = gpu_checked(cudaSetDevice(gpu->cuda_ordinal), "cannot use the GPU", err);
    return rc ? rc : gpu_checked(queue_pass(gpu, pattern, seed), "test of memory", err);
}

int gpu_memory_wait(struct gpu_memory *gpu, double *seconds, struct gpu_memory_wrong *wrong,
                    struct err *err)
{
    struct records records = {};
    float took_ms = 0;
    int rc = gpu_checked(cudaSetDevice(gpu->cuda_ordinal), "cannot use the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaMemcpyAsync(&records, gpu->records, sizeof(records),
                                         cudaMemcpyDeviceToHost, gpu->stream),
                         "result of the memory", err);
    if (!rc)
        rc = gpu_checked(cudaStreamSynchronize(gpu->stream), "test of memory", err);
    if (!rc)
        rc = gpu_checked(cudaEventElapsedTime(&took_ms, gpu->begin, gpu->end), "GPU time", err);
    *seconds = (double)took_ms * 1e-3;
    *wrong = {};
    wrong->words = records.words;
    for (unsigned i = 0; i < RECORDS && i < records.words; i++)
        if (i == 0 || records.first[i].at_byte < wrong->at_byte) {
            wrong->at_byte = records.first[i].at_byte;
            wrong->expected = records.first[i].expected;
            wrong->actual = records.first[i].actual;
        }
    return rc;
}

void gpu_memory_close(struct gpu_memory *gpu)
{
    if (!gpu)
        return;
    (void)cudaSetDevice(gpu->cuda_ordinal);
    if (gpu->stream)
        (void)cudaStreamSynchronize(gpu->stream);
    (void)cudaFree(gpu->base);
    (void)cudaFree(gpu->records);
    if (gpu->begin)
        (void)cudaEventDestroy(gpu->begin);
    if (gpu->end)
        (void)cudaEventDestroy(gpu->end);
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    free(gpu);
}

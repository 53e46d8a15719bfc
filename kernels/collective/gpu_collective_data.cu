#include "kernels/collective/gpu_collective_data.cuh"

#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" {
#include "kernels/collective/collective_value.h"
}

enum { THREADS = 256, BLOCKS_MOST = 4096 };

template <typename T> static __device__ T from_whole(unsigned value)
{
    return static_cast<T>(value);
}

template <> __device__ __half from_whole<__half>(unsigned value)
{
    return __float2half(static_cast<float>(value));
}

template <> __device__ __nv_bfloat16 from_whole<__nv_bfloat16>(unsigned value)
{
    return __float2bfloat16(static_cast<float>(value));
}

template <> __device__ __nv_fp8_e4m3 from_whole<__nv_fp8_e4m3>(unsigned value)
{
    return __nv_fp8_e4m3(static_cast<float>(value));
}

template <> __device__ __nv_fp8_e5m2 from_whole<__nv_fp8_e5m2>(unsigned value)
{
    return __nv_fp8_e5m2(static_cast<float>(value));
}

template <typename T> static __device__ double to_double(T value)
{
    return static_cast<double>(value);
}

template <> __device__ double to_double<__half>(__half value)
{
    return static_cast<double>(__half2float(value));
}

template <> __device__ double to_double<__nv_bfloat16>(__nv_bfloat16 value)
{
    return static_cast<double>(__bfloat162float(value));
}

template <> __device__ double to_double<__nv_fp8_e4m3>(__nv_fp8_e4m3 value)
{
    return static_cast<double>(static_cast<float>(value));
}

template <> __device__ double to_double<__nv_fp8_e5m2>(__nv_fp8_e5m2 value)
{
    return static_cast<double>(static_cast<float>(value));
}

template <typename T>
static __global__ void put_sent(const struct gpu_collective_side side, T *buffer, size_t n)
{
    size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        buffer[i] =
            from_whole<T>(collective_sent(&side.call, side.rank, side.ranks, i, side.repetition));
}

template <typename T>
static __global__ void find_wrong(const struct gpu_collective_side side, const T *buffer, size_t n,
                                  struct gpu_collective_found *found)
{
    size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        double want = collective_expected(&side.call, side.rank, side.ranks, i, side.repetition);
        double got = to_double(buffer[i]);
        if (!collective_is_wrong(&side.call, side.ranks, got, want))
            continue;
        if (atomicAdd(&found->wrong, 1ull) == 0) {
            found->index = i;
            found->got = got;
            found->want = want;
        }
    }
}

static unsigned blocks_for(size_t n)
{
    size_t blocks = (n + THREADS - 1) / THREADS;
    return static_cast<unsigned>(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST);
}

/* Fill or compare; the arguments of `launch`. */
struct job {
    const struct gpu_collective_side *side;
    void *out;      /* buffer to fill; NULL: compare */
    const void *in; /* buffer to compare */
    size_t n;
    struct gpu_collective_found *found;
    cudaStream_t stream;
};

template <typename T> static void launch(const struct job *job)
{
    unsigned blocks = blocks_for(job->n);
    if (job->out)
        put_sent<T>
            <<<blocks, THREADS, 0, job->stream>>>(*job->side, static_cast<T *>(job->out), job->n);
    else
        find_wrong<T><<<blocks, THREADS, 0, job->stream>>>(
            *job->side, static_cast<const T *>(job->in), job->n, job->found);
}

/* By enum collective_type. */
static void (*const launches[COLLECTIVE_TYPES])(const struct job *job) = {
    launch<int8_t>,        launch<int32_t>,  launch<int64_t>,       launch<__half>,
    launch<__nv_bfloat16>, launch<float>,    launch<double>,        launch<uint8_t>,
    launch<uint32_t>,      launch<uint64_t>, launch<__nv_fp8_e4m3>, launch<__nv_fp8_e5m2>,
};

static cudaError_t launch_any(const struct job *job)
{
    if (job->n == 0)
        return cudaSuccess;
    /* Clears the error that cudaStreamQuery records for a busy stream. */
    (void)cudaGetLastError();
    launches[job->side->call.type](job);
    return cudaGetLastError();
}

cudaError_t gpu_collective_put_sent(const struct gpu_collective_side *side, void *buffer, size_t n,
                                    cudaStream_t stream)
{
    struct job job = {};
    job.side = side;
    job.out = buffer;
    job.n = n;
    job.stream = stream;
    return launch_any(&job);
}

cudaError_t gpu_collective_find_wrong(const struct gpu_collective_side *side, const void *buffer,
                                      size_t n, struct gpu_collective_found *found,
                                      cudaStream_t stream)
{
    struct job job = {};
    job.side = side;
    job.in = buffer;
    job.n = n;
    job.found = found;
    job.stream = stream;
    return launch_any(&job);
}

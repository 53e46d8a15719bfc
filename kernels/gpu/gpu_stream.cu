#include "kernels/gpu/gpu_stream.h"

#include <cerrno>
#include <cstdlib>

#include "kernels/cpu/mix64.h"
#include "kernels/gpu/gpu_common.cuh"

enum { THREADS = 256, MOST_IN_FLIGHT = 8 };
static_assert(GPU_STREAM_GRAIN % (THREADS * MOST_IN_FLIGHT * sizeof(double2)) == 0,
              "tiles of every shape divide the arrays");

struct gpu_stream {
    int cuda_ordinal, processors;
    size_t pairs; /* double2 elements of an array */
    uint64_t seed;
    double2 *x, *y, *z;
    unsigned read_blocks;      /* blocks of the last read, each with a sum in z */
    unsigned long long *wrong; /* on the device */
    cudaStream_t stream;
    cudaEvent_t begin[GPU_STREAM_SLOTS], end[GPU_STREAM_SLOTS];
};

static const struct {
    const char *name;
    unsigned bytes;
} ops[GPU_STREAM_OPS] = {{"copy", 16},  {"scale", 16}, {"add", 24},
                         {"triad", 24}, {"read", 8},   {"write", 8}};

static const double factor = 3.0;

/* Integers below 2^24, so that every operation is exact in any order. */
static __device__ double pattern(uint64_t seed, uint64_t array, uint64_t i)
{
    return (double)(mix64(seed ^ mix64(2 * i + array)) >> 40);
}

template <int OP> static __device__ double apply(double x, double y, double s)
{
    switch (OP) {
    case GPU_STREAM_COPY:
        return x;
    case GPU_STREAM_SCALE:
        return s * x;
    case GPU_STREAM_ADD:
        return x + y;
    case GPU_STREAM_WRITE:
        return s;
    default:
        return x + s * y;
    }
}

/* A tile is THREADS * IN_FLIGHT double2: all loads of a thread come before its stores. */
template <int OP, int IN_FLIGHT, bool EVICT_FIRST>
__global__ void __launch_bounds__(THREADS)
    stream_pass(const double2 *__restrict__ x, const double2 *__restrict__ y,
                double2 *__restrict__ z, double s, size_t pairs)
{
    const size_t tile = THREADS * IN_FLIGHT;
    for (size_t at = blockIdx.x * tile + threadIdx.x; at < pairs; at += gridDim.x * tile) {
        double2 a[IN_FLIGHT], b[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT && OP != GPU_STREAM_WRITE; i++) {
            a[i] = EVICT_FIRST ? __ldcs(x + at + i * THREADS) : x[at + i * THREADS];
            b[i] = a[i];
            if (OP == GPU_STREAM_ADD || OP == GPU_STREAM_TRIAD)
                b[i] = EVICT_FIRST ? __ldcs(y + at + i * THREADS) : y[at + i * THREADS];
        }
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++) {
            double2 c = make_double2(apply<OP>(a[i].x, b[i].x, s), apply<OP>(a[i].y, b[i].y, s));
            if (EVICT_FIRST)
                __stcs(z + at + i * THREADS, c);
            else
                z[at + i * THREADS] = c;
        }
    }
}

/* Sums over a block; thread 0 gets the result. All threads of the block must call this. */
static __device__ unsigned long long sum_of_block(unsigned long long sum)
{
    __shared__ unsigned long long sums[THREADS / 32];
    for (int step = 16; step > 0; step /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 == 0)
        sums[threadIdx.x / 32] = sum;
    __syncthreads();
    for (int i = 1; i < THREADS / 32 && threadIdx.x == 0; i++)
        sum += sums[i];
    return sum;
}

/* Writes one sum per block to z. Sums are of the elements' bits modulo 2^64: exact in any order. */
template <int IN_FLIGHT, bool EVICT_FIRST>
__global__ void __launch_bounds__(THREADS)
    read_pass(const double2 *__restrict__ x, const double2 *__restrict__ y, double2 *__restrict__ z,
              double s, size_t pairs)
{
    const size_t tile = THREADS * IN_FLIGHT;
    unsigned long long sum = 0;
    for (size_t at = blockIdx.x * tile + threadIdx.x; at < pairs; at += gridDim.x * tile) {
        double2 a[IN_FLIGHT];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++)
            a[i] = EVICT_FIRST ? __ldcs(x + at + i * THREADS) : x[at + i * THREADS];
#pragma unroll
        for (int i = 0; i < IN_FLIGHT; i++)
            sum += (unsigned long long)__double_as_longlong(a[i].x) +
                   (unsigned long long)__double_as_longlong(a[i].y);
    }
    (void)y;
    (void)s;
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        ((unsigned long long *)z)[blockIdx.x] = sum;
}

typedef void stream_kernel(const double2 *, const double2 *, double2 *, double, size_t);

#define EACH_OP(in_flight, evict_first)                                                            \
    {                                                                                              \
        stream_pass<GPU_STREAM_COPY, in_flight, evict_first>,                                      \
            stream_pass<GPU_STREAM_SCALE, in_flight, evict_first>,                                 \
            stream_pass<GPU_STREAM_ADD, in_flight, evict_first>,                                   \
            stream_pass<GPU_STREAM_TRIAD, in_flight, evict_first>,                                 \
            read_pass<in_flight, evict_first>,                                                     \
            stream_pass<GPU_STREAM_WRITE, in_flight, evict_first>                                  \
    }

static const struct shape {
    const char *name;
    unsigned in_flight;
    bool loop; /* as many blocks as fit at once; else one block per tile */
    stream_kernel *kernel[GPU_STREAM_OPS];
} shapes[GPU_STREAM_SHAPES] = {
    {"flat1", 1, false, EACH_OP(1, false)}, {"flat1-cs", 1, false, EACH_OP(1, true)},
    {"flat2", 2, false, EACH_OP(2, false)}, {"flat2-cs", 2, false, EACH_OP(2, true)},
    {"flat4", 4, false, EACH_OP(4, false)}, {"flat4-cs", 4, false, EACH_OP(4, true)},
    {"flat8", 8, false, EACH_OP(8, false)}, {"flat8-cs", 8, false, EACH_OP(8, true)},
    {"loop4", 4, true, EACH_OP(4, false)},  {"loop4-cs", 4, true, EACH_OP(4, true)},
    {"loop8", 8, true, EACH_OP(8, false)},  {"loop8-cs", 8, true, EACH_OP(8, true)},
};

static __global__ void fill_pattern(double *x, double *y, size_t n, uint64_t seed)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        x[i] = pattern(seed, 0, i);
        y[i] = pattern(seed, 1, i);
    }
}

template <int OP>
__global__ void count_wrong(const double *z, size_t n, uint64_t seed, double s,
                            unsigned long long *wrong)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        if (!(z[i] == apply<OP>(pattern(seed, 0, i), pattern(seed, 1, i), s)))
            atomicAdd(wrong, 1ull);
}

/* *difference: the sum of x less the sums in z, 0 if they are right. */
static __global__ void compare_sums(const unsigned long long *sums, unsigned nsums, size_t n,
                                    uint64_t seed, unsigned long long *difference)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long sum = 0;
    for (size_t i = first; i < n; i += step)
        sum += (unsigned long long)__double_as_longlong(pattern(seed, 0, i));
    for (size_t i = first; i < nsums; i += step)
        sum -= sums[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0)
        atomicAdd(difference, sum);
}

const char *gpu_stream_shape_name(unsigned shape)
{
    return shape < GPU_STREAM_SHAPES ? shapes[shape].name : "driver";
}

const char *gpu_stream_op_name(enum gpu_stream_op op)
{
    return ops[op].name;
}

unsigned gpu_stream_op_bytes(enum gpu_stream_op op)
{
    return ops[op].bytes;
}

int gpu_stream_memory(const char *pci_bdf, uint64_t *free_bytes, uint64_t *l2_bytes,
                      struct err *err)
{
    int ordinal, l2 = 0;
    size_t available = 0, total = 0;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaMemGetInfo(&available, &total), "free memory of the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, ordinal),
                         "L2 of the GPU", err);
    *free_bytes = available;
    *l2_bytes = (uint64_t)l2;
    return rc;
}

static int open_arrays(struct gpu_stream *gpu, uint64_t bytes, struct err *err)
{
    int rc = gpu_checked(cudaMalloc(&gpu->x, bytes), "array of the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->y, bytes), "array of the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->z, bytes), "array of the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->wrong, sizeof(*gpu->wrong)), "counter", err);
    if (rc)
        return rc;
    fill_pattern<<<16 * gpu->processors, THREADS, 0, gpu->stream>>>(&gpu->x->x, &gpu->y->x,
                                                                    2 * gpu->pairs, gpu->seed);
    rc = gpu_checked(cudaGetLastError(), "filling of arrays", err);
    return rc ? rc : gpu_stream_poison(gpu, err);
}

static int open_all(struct gpu_stream *gpu, const struct gpu_stream_config *config, struct err *err)
{
    int rc = gpu_open(config->pci_bdf, cudaDeviceScheduleBlockingSync, &gpu->cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaDeviceGetAttribute(&gpu->processors, cudaDevAttrMultiProcessorCount,
                                                gpu->cuda_ordinal),
                         "processors of the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "stream",
                         err);
    for (int slot = 0; slot < GPU_STREAM_SLOTS && !rc; slot++) {
        rc = gpu_checked(cudaEventCreateWithFlags(&gpu->begin[slot], cudaEventBlockingSync),
                         "event", err);
        if (!rc)
            rc = gpu_checked(cudaEventCreateWithFlags(&gpu->end[slot], cudaEventBlockingSync),
                             "event", err);
    }
    return rc ? rc : open_arrays(gpu, config->bytes, err);
}

int gpu_stream_open(const struct gpu_stream_config *config, struct gpu_stream **gpu,
                    struct err *err)
{
    *gpu = NULL;
    if (config->bytes == 0 || config->bytes % GPU_STREAM_GRAIN != 0) {
        return err_set(err, -EINVAL, "arrays of %llu bytes: not a multiple of 1 MiB",
                       (unsigned long long)config->bytes);
    }
    struct gpu_stream *opened = (struct gpu_stream *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of a GPU");
    }
    opened->pairs = config->bytes / sizeof(double2);
    opened->seed = config->seed;
    int rc = open_all(opened, config, err);
    if (rc)
        gpu_stream_close(opened);
    else
        *gpu = opened;
    return rc;
}

static int select_device(const struct gpu_stream *gpu, struct err *err)
{
    return gpu_checked(cudaSetDevice(gpu->cuda_ordinal), "cannot use the GPU", err);
}

/* *blocks of a launch: one per tile, or as many as the processors hold at once. */
static cudaError_t blocks_of(const struct gpu_stream *gpu, const struct shape *shape,
                             enum gpu_stream_op op, unsigned *blocks)
{
    size_t tiles = gpu->pairs / (THREADS * shape->in_flight);
    int resident = 0;
    cudaError_t error = cudaSuccess;
    if (shape->loop) {
        error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &resident, (const void *)shape->kernel[op], THREADS, 0);
        size_t most = (size_t)resident * (size_t)gpu->processors;
        tiles = most > 0 && most < tiles ? most : tiles;
    }
    *blocks = (unsigned)tiles;
    return error;
}

static cudaError_t queue_driver(struct gpu_stream *gpu, unsigned count)
{
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < count && error == cudaSuccess; i++)
        error = cudaMemcpyAsync(gpu->z, gpu->x, gpu->pairs * sizeof(double2),
                                cudaMemcpyDeviceToDevice, gpu->stream);
    return error;
}

static cudaError_t queue_passes(struct gpu_stream *gpu, enum gpu_stream_op op,
                                const struct shape *shape, unsigned count)
{
    unsigned blocks = 0;
    cudaError_t error = blocks_of(gpu, shape, op, &blocks);
    if (op == GPU_STREAM_READ)
        gpu->read_blocks = blocks;
    for (unsigned i = 0; i < count && error == cudaSuccess; i++) {
        shape->kernel[op]<<<blocks, THREADS, 0, gpu->stream>>>(gpu->x, gpu->y, gpu->z, factor,
                                                               gpu->pairs);
        error = cudaGetLastError();
    }
    return error;
}

int gpu_stream_queue(struct gpu_stream *gpu, unsigned slot, enum gpu_stream_op op, unsigned shape,
                     unsigned count, struct err *err)
{
    if (shape == GPU_STREAM_DRIVER && op != GPU_STREAM_COPY) {
        return err_set(err, -EINVAL, "the driver can copy, but not %s", ops[op].name);
    }
    int rc = select_device(gpu, err);
    if (rc)
        return rc;
    cudaError_t error = cudaEventRecord(gpu->begin[slot], gpu->stream);
    if (error == cudaSuccess)
        error = shape == GPU_STREAM_DRIVER ? queue_driver(gpu, count)
                                           : queue_passes(gpu, op, &shapes[shape], count);
    if (error == cudaSuccess)
        error = cudaEventRecord(gpu->end[slot], gpu->stream);
    return gpu_checked(error, "pass over the GPU's memory", err);
}

int gpu_stream_done(struct gpu_stream *gpu, unsigned slot, bool *done, struct err *err)
{
    cudaError_t error = cudaEventQuery(gpu->end[slot]);
    *done = error == cudaSuccess;
    if (error != cudaErrorNotReady)
        return gpu_checked(error, "pass over the GPU's memory", err);
    (void)cudaGetLastError(); /* otherwise the next launch would seem to have failed */
    return 0;
}

int gpu_stream_wait(struct gpu_stream *gpu, unsigned slot, double *seconds, struct err *err)
{
    float took_ms = 0;
    int rc = select_device(gpu, err);
    if (!rc)
        rc = gpu_checked(cudaEventSynchronize(gpu->end[slot]), "wait for the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaEventElapsedTime(&took_ms, gpu->begin[slot], gpu->end[slot]),
                         "GPU time", err);
    *seconds = (double)took_ms * 1e-3;
    return rc;
}

int gpu_stream_poison(struct gpu_stream *gpu, struct err *err)
{
    int rc = select_device(gpu, err);
    if (!rc)
        rc = gpu_checked(cudaMemsetAsync(gpu->z, 0xff, gpu->pairs * sizeof(double2), gpu->stream),
                         "poisoning of an array", err);
    return rc ? rc : gpu_checked(cudaStreamSynchronize(gpu->stream), "poisoning", err);
}

static cudaError_t queue_check(struct gpu_stream *gpu, enum gpu_stream_op op)
{
    static void (*const kernels[])(const double *, size_t, uint64_t, double,
                                   unsigned long long *) = {count_wrong<GPU_STREAM_COPY>,
                                                            count_wrong<GPU_STREAM_SCALE>,
                                                            count_wrong<GPU_STREAM_ADD>,
                                                            count_wrong<GPU_STREAM_TRIAD>,
                                                            NULL,
                                                            count_wrong<GPU_STREAM_WRITE>};
    cudaError_t error = cudaMemsetAsync(gpu->wrong, 0, sizeof(*gpu->wrong), gpu->stream);
    if (error != cudaSuccess)
        return error;
    if (op == GPU_STREAM_READ)
        compare_sums<<<16 * gpu->processors, THREADS, 0, gpu->stream>>>(
            (const unsigned long long *)gpu->z, gpu->read_blocks, 2 * gpu->pairs, gpu->seed,
            gpu->wrong);
    else
        kernels[op]<<<16 * gpu->processors, THREADS, 0, gpu->stream>>>(
            &gpu->z->x, 2 * gpu->pairs, gpu->seed, factor, gpu->wrong);
    return cudaGetLastError();
}

int gpu_stream_check(struct gpu_stream *gpu, enum gpu_stream_op op, uint64_t *wrong,
                     struct err *err)
{
    unsigned long long count = 2 * gpu->pairs;
    int rc = select_device(gpu, err);
    if (!rc)
        rc = gpu_checked(queue_check(gpu, op), "check on the GPU", err);
    if (!rc)
        rc = gpu_checked(
            cudaMemcpyAsync(&count, gpu->wrong, sizeof(count), cudaMemcpyDeviceToHost, gpu->stream),
            "check on the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaStreamSynchronize(gpu->stream), "check on the GPU", err);
    *wrong = op == GPU_STREAM_READ && count ? 2 * gpu->pairs : count;
    return rc;
}

void gpu_stream_close(struct gpu_stream *gpu)
{
    if (!gpu)
        return;
    (void)cudaSetDevice(gpu->cuda_ordinal);
    if (gpu->stream)
        (void)cudaStreamSynchronize(gpu->stream);
    (void)cudaFree(gpu->x);
    (void)cudaFree(gpu->y);
    (void)cudaFree(gpu->z);
    (void)cudaFree(gpu->wrong);
    for (int slot = 0; slot < GPU_STREAM_SLOTS; slot++) {
        if (gpu->begin[slot])
            (void)cudaEventDestroy(gpu->begin[slot]);
        if (gpu->end[slot])
            (void)cudaEventDestroy(gpu->end[slot]);
    }
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    free(gpu);
}

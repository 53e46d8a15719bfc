#include "kernels/matmul/gpu_matmul_data.cuh"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"
#include "kernels/matmul/gpu_matmul_data.h"
#include "kernels/matmul/gpu_matmul_entries.cuh"

/* CHUNK: residuals of a row at once, of which a block of threads does TILE for TILE rows. */
enum { FILL_THREADS = 256, FILL_BLOCKS = 4096, TILE = 16, CHUNK = 64 };

template <typename ENTRY>
__global__ void fill_entries(ENTRY *entries, size_t count, uint64_t seed, unsigned matrix)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step)
        store(&entries[i], matmul_value(seed, matrix, i));
}

template <typename ENTRY> static void fill(const struct matmul_data *data)
{
    size_t count = data->n * data->n;
    fill_entries<<<FILL_BLOCKS, FILL_THREADS, 0, data->stream>>>((ENTRY *)data->a, count,
                                                                 data->seed, 0);
    fill_entries<<<FILL_BLOCKS, FILL_THREADS, 0, data->stream>>>((ENTRY *)data->b, count,
                                                                 data->seed, 1);
}

cudaError_t matmul_data_fill(const struct matmul_data *data)
{
    static void (*const fills[MATMUL_TYPES])(const struct matmul_data *) = {
        fill<double>,        fill<float>,  fill<struct tf32>,
        fill<__nv_bfloat16>, fill<__half>, fill<__nv_fp8_storage_t>};
    fills[data->type](data);
    return cudaGetLastError();
}

/* What a block of threads found; `at`: row * TILE + column of the worst, within the block. */
struct partial {
    double squares, worst;
    unsigned at;
};

/*
 * Of a matrix in columns of n entries, row i: the columns of a group, by their signs. Residual
 * column `column` is group column % groups of vector column / groups; behind the last, 0.
 */
template <typename ENTRY>
static __device__ double signed_sum(const ENTRY *entries, size_t n, size_t i, size_t column,
                                    uint64_t seed)
{
    size_t groups = (n + FREIVALDS_GROUP - 1) / FREIVALDS_GROUP;
    unsigned vector = (unsigned)(column / groups);
    size_t first = column % groups * FREIVALDS_GROUP, end = first + FREIVALDS_GROUP;
    double sum = 0;
    if (vector < FREIVALDS_VECTORS)
        for (size_t j = first; j < end && j < n; j++)
            sum += freivalds_sign(seed, vector, j) * load(entries[j * n + i]);
    return sum;
}

/* v = B r, CHUNK columns of n. */
template <typename ENTRY>
__global__ void project(const ENTRY *b, double *v, size_t n, size_t column, uint64_t seed)
{
    size_t k = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n)
        v[blockIdx.y * n + k] = signed_sum(b, n, k, column + blockIdx.y, seed);
}

/* C r - A v, TILE rows and TILE columns a block. n is a multiple of TILE. */
template <typename IN, typename OUT>
__global__ void __launch_bounds__(TILE *TILE)
    find_residuals(const IN *a, const OUT *c, const double *v, size_t n, size_t column,
                   uint64_t seed, struct partial *partials)
{
    __shared__ double rows[TILE][TILE + 1], columns[TILE][TILE + 1];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    size_t row = (size_t)blockIdx.x * TILE + ty, first = (size_t)blockIdx.y * TILE;
    double sum = 0;
    for (size_t k = 0; k < n; k += TILE) {
        rows[ty][tx] = load(a[row * n + k + tx]);
        columns[ty][tx] = v[(first + ty) * n + k + tx];
        __syncthreads();
        for (unsigned i = 0; i < TILE; i++)
            sum += rows[ty][i] * columns[tx][i];
        __syncthreads();
    }
    rows[ty][tx] = signed_sum(c, n, row, column + first + tx, seed) - sum;
    __syncthreads();
    if (tx || ty)
        return;
    struct partial found = {0, 0, 0};
    for (unsigned i = 0; i < TILE * TILE; i++) {
        double size = fabs(rows[i / TILE][i % TILE]);
        found.squares += size * size;
        if (size <= found.worst)
            continue;
        found.worst = isnan(size) ? (double)INFINITY : size;
        found.at = i;
    }
    partials[blockIdx.y * gridDim.x + blockIdx.x] = found;
}

template <typename IN, typename OUT>
static void queue_chunk(const struct matmul_data *data, size_t column, double *v,
                        struct partial *partials)
{
    dim3 each((unsigned)((data->n + FILL_THREADS - 1) / FILL_THREADS), CHUNK);
    dim3 tiles((unsigned)(data->n / TILE), CHUNK / TILE), tile(TILE, TILE);
    project<<<each, FILL_THREADS, 0, data->stream>>>((const IN *)data->b, v, data->n, column,
                                                     data->seed);
    find_residuals<<<tiles, tile, 0, data->stream>>>((const IN *)data->a, (const OUT *)data->c, v,
                                                     data->n, column, data->seed, partials);
}

/* Residual columns column .. column + CHUNK - 1. */
static cudaError_t take_chunk(const struct matmul_data *data, size_t column,
                              struct partial *partials, struct freivalds *sums)
{
    static void (*const queues[MATMUL_TYPES])(const struct matmul_data *, size_t, double *,
                                              struct partial *) = {
        queue_chunk<double, double>,     queue_chunk<float, float>,
        queue_chunk<struct tf32, float>, queue_chunk<__nv_bfloat16, __nv_bfloat16>,
        queue_chunk<__half, __half>,     queue_chunk<__nv_fp8_storage_t, __nv_bfloat16>};
    size_t blocks = data->n / TILE, count = blocks * (CHUNK / TILE);
    size_t groups = freivalds_groups(data->n), columns = groups * FREIVALDS_VECTORS;
    double *v = (double *)data->scratch;
    struct partial *found = (struct partial *)(v + CHUNK * data->n);
    queues[data->type](data, column, v, found);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(partials, found, count * sizeof(*found), cudaMemcpyDeviceToHost,
                                data->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(data->stream);
    for (size_t i = 0; i < count && error == cudaSuccess; i++) {
        size_t first = column + i / blocks * TILE;
        size_t there = first >= columns ? 0 : columns - first < TILE ? columns - first : TILE;
        freivalds_add(sums, partials[i].squares, partials[i].worst, there * TILE,
                      i % blocks * TILE + partials[i].at / TILE,
                      (first + partials[i].at % TILE) % groups);
    }
    return error;
}

int matmul_data_residuals(const struct matmul_data *data, struct freivalds *sums, char *msg,
                          size_t size)
{
    size_t columns = freivalds_groups(data->n) * FREIVALDS_VECTORS;
    size_t count = data->n / TILE * (CHUNK / TILE);
    if (CHUNK * data->n * sizeof(double) + count * sizeof(struct partial) > data->scratch_bytes) {
        (void)snprintf(msg, size, "no room to check a product of n = %zu", data->n);
        return -ENOMEM;
    }
    struct partial *partials = (struct partial *)calloc(count, sizeof(*partials));
    if (!partials) {
        (void)snprintf(msg, size, "cannot allocate %zu partial sums", count);
        return -ENOMEM;
    }
    cudaError_t error = cudaSuccess;
    for (size_t column = 0; column < columns && error == cudaSuccess; column += CHUNK)
        error = take_chunk(data, column, partials, sums);
    free(partials);
    return gpu_checked(error, "check of a product", msg, size);
}

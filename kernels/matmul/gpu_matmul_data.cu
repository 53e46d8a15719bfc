#include "kernels/matmul/gpu_matmul_data.cuh"

#include <cerrno>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"
#include "kernels/matmul/gpu_matmul_data.h"
#include "kernels/matmul/gpu_matmul_entries.cuh"

/* CHUNK: residual columns per launch; a thread block computes TILE of them for TILE rows. */
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
    const struct matmul_shape *shape = &data->shape;
    fill_entries<<<FILL_BLOCKS, FILL_THREADS, 0, data->stream>>>(
        (ENTRY *)data->a, shape->m * shape->k, data->seed, 0);
    fill_entries<<<FILL_BLOCKS, FILL_THREADS, 0, data->stream>>>(
        (ENTRY *)data->b, shape->k * shape->n, data->seed, 1);
}

cudaError_t matmul_data_fill(const struct matmul_data *data)
{
    static void (*const fills[MATMUL_TYPES])(const struct matmul_data *) = {
        fill<double>,        fill<float>,  fill<struct tf32>,
        fill<__nv_bfloat16>, fill<__half>, fill<__nv_fp8_storage_t>,
        fill<signed char>};
    fills[data->type](data);
    return cudaGetLastError();
}

/* The result of a thread block; `at`: row * TILE + column of the worst residual in the block. */
struct partial {
    double squares, worst;
    unsigned at;
};

/*
 * Sums the entries of a group with their signs. The row of n entries begins at `entries`, `step`
 * apart. Residual column `column` is group column % groups of vector column / groups, or 0 after
 * the last.
 */
template <typename ENTRY>
static __device__ double signed_sum(const ENTRY *entries, size_t step, size_t n, size_t column,
                                    uint64_t seed)
{
    size_t groups = (n + FREIVALDS_GROUP - 1) / FREIVALDS_GROUP;
    unsigned vector = (unsigned)(column / groups);
    size_t first = column % groups * FREIVALDS_GROUP, end = first + FREIVALDS_GROUP;
    double sum = 0;
    if (vector < FREIVALDS_VECTORS)
        for (size_t j = first; j < end && j < n; j++)
            sum += freivalds_sign(seed, vector, j) * load(entries[j * step]);
    return sum;
}

/* v = B r, for CHUNK residual columns. */
template <typename ENTRY>
__global__ void project(const ENTRY *b, double *v, struct matmul_shape shape, size_t column,
                        uint64_t seed)
{
    size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (at < shape.k)
        v[blockIdx.y * shape.k + at] =
            signed_sum(b + matmul_b_at(&shape, at, 0), matmul_b_at(&shape, 0, 1), shape.n,
                       column + blockIdx.y, seed);
}

/* C r - A v, for TILE rows and TILE residual columns per thread block. */
template <typename IN, typename OUT>
__global__ void __launch_bounds__(TILE *TILE)
    find_residuals(const IN *a, const OUT *c, const double *v, struct matmul_shape shape,
                   size_t column, uint64_t seed, struct partial *partials)
{
    __shared__ double rows[TILE][TILE + 1], columns[TILE][TILE + 1];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    /* Threads adjacent in tx read adjacent entries. */
    bool by_rows = matmul_a_is_transposed(&shape);
    unsigned from_row = by_rows ? ty : tx, from_at = by_rows ? tx : ty;
    size_t base = (size_t)blockIdx.x * TILE, row = base + ty, first = (size_t)blockIdx.y * TILE;
    double sum = 0;
    for (size_t at = 0; at < shape.k; at += TILE) {
        rows[from_row][from_at] = base + from_row < shape.m && at + from_at < shape.k
                                      ? load(a[matmul_a_at(&shape, base + from_row, at + from_at)])
                                      : 0;
        columns[ty][tx] = at + tx < shape.k ? v[(first + ty) * shape.k + at + tx] : 0;
        __syncthreads();
        for (unsigned i = 0; i < TILE; i++)
            sum += rows[ty][i] * columns[tx][i];
        __syncthreads();
    }
    rows[ty][tx] = 0;
    if (row < shape.m)
        rows[ty][tx] = signed_sum(c + matmul_c_at(&shape, row, 0), matmul_c_at(&shape, 0, 1),
                                  shape.n, column + first + tx, seed) -
                       sum;
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

static size_t blocks_of(size_t n, size_t each)
{
    return (n + each - 1) / each;
}

template <typename IN, typename OUT>
static void queue_chunk(const struct matmul_data *data, size_t column, double *v,
                        struct partial *partials)
{
    const struct matmul_shape *shape = &data->shape;
    dim3 each((unsigned)blocks_of(shape->k, FILL_THREADS), CHUNK);
    dim3 tiles((unsigned)blocks_of(shape->m, TILE), CHUNK / TILE), tile(TILE, TILE);
    project<<<each, FILL_THREADS, 0, data->stream>>>((const IN *)data->b, v, *shape, column,
                                                     data->seed);
    find_residuals<<<tiles, tile, 0, data->stream>>>((const IN *)data->a, (const OUT *)data->c, v,
                                                     *shape, column, data->seed, partials);
}

/* Adds the results of thread blocks for residual columns column .. column + CHUNK - 1. */
static void add_chunk(const struct matmul_shape *shape, size_t column,
                      const struct partial *partials, struct freivalds *sums)
{
    size_t blocks = blocks_of(shape->m, TILE), groups = freivalds_groups(shape->n);
    size_t columns = groups * FREIVALDS_VECTORS;
    for (size_t i = 0; i < blocks * (CHUNK / TILE); i++) {
        size_t first = column + i / blocks * TILE, row = i % blocks * TILE;
        size_t wide = first >= columns ? 0 : columns - first < TILE ? columns - first : TILE;
        size_t high = shape->m - row < TILE ? shape->m - row : TILE;
        freivalds_add(sums, partials[i].squares, partials[i].worst, wide * high,
                      row + partials[i].at / TILE, (first + partials[i].at % TILE) % groups);
    }
}

static cudaError_t take_chunk(const struct matmul_data *data, size_t column,
                              struct partial *partials, struct freivalds *sums)
{
    static void (*const queues[MATMUL_TYPES])(const struct matmul_data *, size_t, double *,
                                              struct partial *) = {
        queue_chunk<double, double>,     queue_chunk<float, float>,
        queue_chunk<struct tf32, float>, queue_chunk<__nv_bfloat16, __nv_bfloat16>,
        queue_chunk<__half, __half>,     queue_chunk<__nv_fp8_storage_t, __nv_bfloat16>,
        queue_chunk<signed char, int>};
    size_t count = blocks_of(data->shape.m, TILE) * (CHUNK / TILE);
    double *v = (double *)data->scratch;
    struct partial *found = (struct partial *)(v + CHUNK * data->shape.k);
    queues[data->type](data, column, v, found);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(partials, found, count * sizeof(*found), cudaMemcpyDeviceToHost,
                                data->stream);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(data->stream);
    if (error == cudaSuccess)
        add_chunk(&data->shape, column, partials, sums);
    return error;
}

int matmul_data_residuals(const struct matmul_data *data, struct freivalds *sums, struct err *err)
{
    const struct matmul_shape *shape = &data->shape;
    size_t columns = freivalds_groups(shape->n) * FREIVALDS_VECTORS;
    size_t count = blocks_of(shape->m, TILE) * (CHUNK / TILE);
    if (CHUNK * shape->k * sizeof(double) + count * sizeof(struct partial) > data->scratch_bytes) {
        char text[MATMUL_SHAPE_TEXT];
        return err_set(err, -ENOMEM, "no room to check a product of %s",
                       matmul_shape_text(shape, text, sizeof(text)));
    }
    struct partial *partials = (struct partial *)calloc(count, sizeof(*partials));
    if (!partials) {
        return err_set(err, -ENOMEM, "cannot allocate %zu partial sums", count);
    }
    cudaError_t error = cudaSuccess;
    for (size_t column = 0; column < columns && error == cudaSuccess; column += CHUNK)
        error = take_chunk(data, column, partials, sums);
    free(partials);
    return gpu_checked(error, "check of a product", err);
}

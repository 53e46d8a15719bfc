#include "kernels/prep/prep_gpu.cuh"

#include <cfloat>

/*
 * moments: a thread block has COLUMNS columns with LANES threads each; adjacent threads read
 * adjacent values. smooth: a warp has one row per lane, and each lane goes along its row. The warp
 * reads the rows in squares, so that memory, too, is read along rows.
 */
enum {
    COLUMNS = 32,
    LANES = 8,
    TILE = 16,
    SQUARE = 32,
    THREADS = 128,
    FEATURES = 3,
    GRID_MOST = 65535, /* limit of y and z; x has room for all rows */
};

/* Sums over the threads of a column; all of them get the sum. */
__device__ float column_sum(float part[LANES][COLUMNS], float value)
{
    float sum = 0;
    part[threadIdx.y][threadIdx.x] = value;
    __syncthreads();
    for (int lane = 0; lane < LANES; lane++)
        sum += part[lane][threadIdx.x];
    __syncthreads();
    return sum;
}

__device__ size_t rows_of(const struct prep_gpu_params &p, size_t block)
{
    size_t left = p.rows - block * p.block;
    return left < p.block ? left : p.block;
}

__global__ void moments(const struct prep_gpu_params p, const float *__restrict__ x,
                        float *__restrict__ mean, float *__restrict__ scale)
{
    __shared__ float part[LANES][COLUMNS];
    size_t col = (size_t)blockIdx.x * COLUMNS + threadIdx.x;
    bool mine = col < p.cols;
    for (size_t block = blockIdx.y; block < p.blocks; block += gridDim.y) {
        size_t rows = rows_of(p, block);
        const float *v = x + block * p.block * p.cols + col;
        float origin = mine ? v[0] : 0.0f, sum = 0, m2 = 0;
        for (size_t r = threadIdx.y; mine && r < rows; r += LANES)
            sum += v[r * p.cols] - origin;
        float shift = column_sum(part, sum) / (float)rows;
        for (size_t r = threadIdx.y; mine && r < rows; r += LANES) {
            float d = (v[r * p.cols] - origin) - shift;
            m2 += d * d;
        }
        m2 = column_sum(part, m2) / (float)rows;
        if (mine && threadIdx.y == 0) {
            mean[block * p.cols + col] = origin + shift;
            scale[block * p.cols + col] = m2 >= FLT_MIN ? 1.0f / sqrtf(m2) : 0.0f;
        }
    }
}

__global__ void transform(const struct prep_gpu_params p, const float *__restrict__ x,
                          const float *__restrict__ mean, const float *__restrict__ scale,
                          float *__restrict__ t)
{
    for (size_t r = blockIdx.x; r < p.rows; r += gridDim.x) {
        size_t stats = r / p.block * p.cols;
        for (size_t c = threadIdx.x; c < p.cols; c += blockDim.x) {
            float z = (x[r * p.cols + c] - mean[stats + c]) * scale[stats + c];
            bool negative = signbit(z);
            float power = negative ? p.neg : p.pos, inv = negative ? -p.inv_neg : p.inv_pos;
            t[r * p.cols + c] = expm1f(power * log1pf(fabsf(z))) * inv;
        }
    }
}

__global__ void features(const struct prep_gpu_params p, const float *__restrict__ t,
                         float *__restrict__ out)
{
    float inv = 1.0f / (float)p.window;
    for (size_t r = blockIdx.x; r < p.rows; r += gridDim.x)
        for (size_t k = threadIdx.x; k < p.windows; k += blockDim.x) {
            const float *v = t + r * p.cols + k * p.hop;
            float origin = v[0], sum = 0, m2 = 0, m3 = 0;
            for (size_t i = 0; i < p.window; i++)
                sum += v[i] - origin;
            float mean = sum * inv;
            for (size_t i = 0; i < p.window; i++) {
                float d = (v[i] - origin) - mean;
                m2 += d * d;
                m3 += d * d * d;
            }
            m2 *= inv;
            m3 *= inv;
            float *feature = out + (r * p.windows + k) * FEATURES;
            feature[0] = origin + mean;
            feature[1] = m2;
            feature[2] = m2 >= FLT_MIN ? (m3 / m2) / sqrtf(m2) : 0.0f;
        }
}

/* A thread block computes TILE x TILE of the matrix; centring one factor is enough. */
__global__ void covariance(const struct prep_gpu_params p, const float *__restrict__ t,
                           float *__restrict__ out)
{
    __shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1], mean[TILE];
    size_t n = p.cov_cols;
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    size_t i = (size_t)blockIdx.y * TILE + tx, j = (size_t)blockIdx.x * TILE + tx;
    for (size_t block = blockIdx.z; block < p.blocks; block += gridDim.z) {
        size_t rows = rows_of(p, block);
        const float *v = t + block * p.block * p.cols;
        float sum = 0;
        for (size_t r = ty; i < n && r < rows; r += TILE)
            sum += v[r * p.cols + i];
        a[ty][tx] = sum;
        __syncthreads();
        if (ty == 0) {
            sum = 0;
            for (int lane = 0; lane < TILE; lane++)
                sum += a[lane][tx];
            mean[tx] = sum / (float)rows;
        }
        __syncthreads();
        sum = 0;
        for (size_t r0 = 0; r0 < rows; r0 += TILE) {
            size_t r = r0 + ty;
            a[ty][tx] = r < rows && i < n ? v[r * p.cols + i] - mean[tx] : 0.0f;
            b[ty][tx] = r < rows && j < n ? v[r * p.cols + j] : 0.0f;
            __syncthreads();
            for (int k = 0; k < TILE; k++)
                sum += a[k][ty] * b[k][tx];
            __syncthreads();
        }
        size_t row = (size_t)blockIdx.y * TILE + ty;
        if (row < n && j < n)
            out[(block * n + row) * n + j] = sum / (float)rows;
    }
}

__global__ void smooth(const struct prep_gpu_params p, const float *__restrict__ t,
                       float *__restrict__ y)
{
    __shared__ float square[SQUARE][SQUARE + 1];
    unsigned lane = threadIdx.x;
    size_t row0 = (size_t)blockIdx.x * SQUARE;
    float keep = 1.0f - p.alpha, last = 0;
    for (size_t col0 = 0; col0 < p.cols; col0 += SQUARE) {
        size_t col = col0 + lane, left = p.cols - col0;
        for (unsigned r = 0; r < SQUARE; r++)
            square[r][lane] =
                row0 + r < p.rows && col < p.cols ? t[(row0 + r) * p.cols + col] : 0.0f;
        __syncwarp();
        for (unsigned c = 0; c < SQUARE && c < left; c++) {
            float value = square[lane][c];
            last = col0 + c ? p.alpha * value + keep * last : value;
            square[lane][c] = last;
        }
        __syncwarp();
        for (unsigned r = 0; r < SQUARE; r++)
            if (row0 + r < p.rows && col < p.cols)
                y[(row0 + r) * p.cols + col] = square[r][lane];
        __syncwarp();
    }
}

static unsigned groups(size_t n, size_t each)
{
    return (unsigned)((n + each - 1) / each);
}

cudaError_t prep_gpu_queue(const struct prep_gpu_params *params, const float *in,
                           const struct prep_gpu_arrays *out, cudaStream_t stream)
{
    const struct prep_gpu_params p = *params;
    unsigned blocks = (unsigned)(p.blocks < GRID_MOST ? p.blocks : GRID_MOST);
    unsigned tiles = groups(p.cov_cols, TILE), rows = (unsigned)p.rows;
    moments<<<dim3(groups(p.cols, COLUMNS), blocks), dim3(COLUMNS, LANES), 0, stream>>>(
        p, in, out->mean, out->scale);
    transform<<<rows, THREADS, 0, stream>>>(p, in, out->mean, out->scale, out->transformed);
    features<<<rows, THREADS, 0, stream>>>(p, out->transformed, out->features);
    covariance<<<dim3(tiles, tiles, blocks), dim3(TILE, TILE), 0, stream>>>(p, out->transformed,
                                                                            out->covariance);
    smooth<<<groups(p.rows, SQUARE), SQUARE, 0, stream>>>(p, out->transformed, out->smoothed);
    return cudaGetLastError();
}

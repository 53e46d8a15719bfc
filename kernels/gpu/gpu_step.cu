#include "kernels/gpu/gpu_step.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "kernels/gpu/gpu_common.cuh"
#include "kernels/prep/prep_gpu.cuh"

extern "C" {
#include "kernels/gpu/gpu_ref.h"
}

/*
 * A thread block computes TILE x TILE of the product from TILE x DEPTH and DEPTH x TILE pieces in
 * shared memory. A thread computes MICRO x MICRO elements in registers, so that it reads 2 MICRO
 * values for MICRO^2 multiply-adds. A block has TILE / MICRO threads in both directions, and a
 * thread's elements lie TILE / MICRO apart: stores are coalesced, and reads of shared memory have
 * no bank conflicts.
 */
enum { TILE = 64, DEPTH = 16, MICRO = 4, SPAN = TILE / MICRO, BLOCK_THREADS = SPAN * SPAN };

struct slot {
    float *host;   /* the batch in the caller's memory */
    bool locked;   /* `host` is page-locked by pin_host */
    float *device; /* the batch on the GPU */
    float *result; /* row 0 of the output, page-locked */
    cudaEvent_t copying, copied, begin, prepared, end, done;
};

struct gpu_step {
    size_t rows, cols;
    unsigned slots, work;
    bool pinned, in_order, preps;
    int cuda_ordinal;
    cudaStream_t copy, compute;
    float *weights; /* cols x cols, on the device */
    float *ping[2]; /* rows x cols: passes write them alternately */
    struct prep_gpu_params prep;
    struct prep_gpu_arrays arrays; /* if `preps` */
    struct slot *slot;
};

/* out = f(in W), in and out rows x cols, W cols x cols. */
__global__ void __launch_bounds__(BLOCK_THREADS)
    product_pass(const float *__restrict__ in, const float *__restrict__ weights,
                 float *__restrict__ out, size_t rows, size_t cols)
{
    __shared__ float a[DEPTH][TILE + 1]; /* transposed; + 1 spreads stores over the banks */
    __shared__ float b[DEPTH][TILE];
    /* Rows along x: the x dimension of a grid reaches 2^31, y and z only 65535. */
    size_t row0 = (size_t)blockIdx.x * TILE, col0 = (size_t)blockIdx.y * TILE;
    unsigned thread = threadIdx.x, tx = thread % SPAN, ty = thread / SPAN;
    float sum[MICRO][MICRO] = {};

    for (size_t k0 = 0; k0 < cols; k0 += DEPTH) {
        for (unsigned i = thread; i < TILE * DEPTH; i += BLOCK_THREADS) {
            size_t row = row0 + i / DEPTH, k = k0 + i % DEPTH;
            a[i % DEPTH][i / DEPTH] = row < rows && k < cols ? in[row * cols + k] : 0.0f;
        }
        for (unsigned i = thread; i < TILE * DEPTH; i += BLOCK_THREADS) {
            size_t k = k0 + i / TILE, col = col0 + i % TILE;
            b[i / TILE][i % TILE] = k < cols && col < cols ? weights[k * cols + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (unsigned k = 0; k < DEPTH; k++)
#pragma unroll
            for (unsigned i = 0; i < MICRO; i++)
#pragma unroll
                for (unsigned j = 0; j < MICRO; j++)
                    sum[i][j] += a[k][ty + i * SPAN] * b[k][tx + j * SPAN];
        __syncthreads();
    }
    for (unsigned i = 0; i < MICRO; i++)
        for (unsigned j = 0; j < MICRO; j++) {
            size_t row = row0 + ty + i * SPAN, col = col0 + tx + j * SPAN;
            if (row < rows && col < cols)
                out[row * cols + col] = sum[i][j] / (1.0f + fabsf(sum[i][j]));
        }
}

/* Array number i, in the order of prep_gpu_sizes. */
static float **array_at(struct prep_gpu_arrays *arrays, int i)
{
    float **const all[PREP_GPU_ARRAYS] = {&arrays->mean,        &arrays->scale,
                                          &arrays->transformed, &arrays->features,
                                          &arrays->covariance,  &arrays->smoothed};
    return all[i];
}

static int open_prep(struct gpu_step *gpu, struct err *err)
{
    size_t bytes[PREP_GPU_ARRAYS];
    int rc = 0;
    prep_gpu_sizes(&gpu->prep, bytes);
    for (int i = 0; i < PREP_GPU_ARRAYS && !rc; i++)
        rc = gpu_checked(cudaMalloc(array_at(&gpu->arrays, i), bytes[i]),
                         "GPU memory of the preprocessing", err);
    return rc;
}

static int open_buffers(struct gpu_step *gpu, struct err *err)
{
    size_t bytes = gpu->rows * gpu->cols * sizeof(float);
    size_t weight_bytes = gpu->cols * gpu->cols * sizeof(float);
    float *weights = (float *)malloc(weight_bytes);
    if (!weights)
        return err_set(err, -ENOMEM, "cannot allocate %zu bytes of weights", weight_bytes);
    gpu_ref_weights(gpu->cols, weights);
    int rc = gpu_checked(cudaMalloc(&gpu->weights, weight_bytes), "GPU weights", err);
    for (int i = 0; i < 2 && !rc; i++)
        rc = gpu_checked(cudaMalloc(&gpu->ping[i], bytes), "GPU buffer", err);
    if (!rc)
        rc = gpu_checked(cudaMemcpy(gpu->weights, weights, weight_bytes, cudaMemcpyHostToDevice),
                         "copy of the weights", err);
    /* The last staged chunk may still be in flight, and the non-blocking streams do not wait. */
    if (!rc)
        rc = gpu_checked(cudaDeviceSynchronize(), "copy of the weights", err);
    free(weights);
    return rc;
}

static int pin_host(struct slot *slot, const struct gpu_step *gpu, struct err *err)
{
    size_t bytes = gpu->rows * gpu->cols * sizeof(float);
    int rc = gpu_checked(cudaHostRegister(slot->host, bytes, cudaHostRegisterDefault),
                         "page-locked batch buffer", err);
    slot->locked = !rc;
    return rc;
}

static int open_slot(struct slot *slot, const struct gpu_step *gpu, bool spin, struct err *err)
{
    size_t bytes = gpu->rows * gpu->cols * sizeof(float);
    unsigned done_flags = cudaEventDisableTiming | (spin ? 0u : cudaEventBlockingSync);
    int rc = gpu->pinned ? pin_host(slot, gpu, err) : 0;
    if (!rc)
        rc = gpu_checked(cudaMalloc(&slot->device, bytes), "GPU batch", err);
    if (!rc)
        rc = gpu_checked(
            cudaHostAlloc(&slot->result, gpu->cols * sizeof(float), cudaHostAllocDefault),
            "page-locked result", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreate(&slot->copying), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreate(&slot->copied), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreate(&slot->begin), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreate(&slot->prepared), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreate(&slot->end), "event", err);
    if (!rc)
        rc = gpu_checked(cudaEventCreateWithFlags(&slot->done, done_flags), "event", err);
    return rc;
}

static int open_all(struct gpu_step *gpu, const struct gpu_step_config *config, struct err *err)
{
    unsigned flags = config->spin ? cudaDeviceScheduleSpin : cudaDeviceScheduleBlockingSync;
    int rc = gpu_open(config->pci_bdf, flags, &gpu->cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->copy, cudaStreamNonBlocking), "stream",
                         err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->compute, cudaStreamNonBlocking), "stream",
                         err);
    if (!rc)
        rc = open_buffers(gpu, err);
    if (!rc && gpu->preps)
        rc = open_prep(gpu, err);
    for (unsigned s = 0; s < gpu->slots && !rc; s++) {
        gpu->slot[s].host = config->host[s];
        rc = open_slot(&gpu->slot[s], gpu, config->spin, err);
    }
    return rc;
}

int gpu_step_open(const struct gpu_step_config *config, struct gpu_step **gpu, struct err *err)
{
    *gpu = NULL;
    struct gpu_step *opened = (struct gpu_step *)calloc(1, sizeof(*opened));
    struct slot *slots = (struct slot *)calloc(config->slots, sizeof(*slots));
    if (!opened || !slots) {
        free(slots);
        free(opened);
        return err_set(err, -ENOMEM, "cannot allocate %u slots", config->slots);
    }
    opened->rows = config->rows;
    opened->cols = config->cols;
    opened->slots = config->slots;
    opened->work = config->work;
    opened->pinned = config->pinned;
    opened->in_order = config->in_order;
    opened->preps = config->prep;
    if (config->prep)
        opened->prep = *config->prep;
    opened->slot = slots;
    int rc = open_all(opened, config, err);
    if (rc)
        gpu_step_close(opened);
    else
        *gpu = opened;
    return rc;
}

const float *gpu_step_result(const struct gpu_step *gpu, unsigned slot)
{
    return gpu->slot[slot].result;
}

/* The output of the last pass. */
static float *output(const struct gpu_step *gpu)
{
    return gpu->ping[(gpu->work - 1) % 2];
}

static cudaError_t queue_copy(struct gpu_step *gpu, struct slot *slot)
{
    size_t bytes = gpu->rows * gpu->cols * sizeof(float);
    cudaStream_t stream = gpu->in_order ? gpu->compute : gpu->copy;
    cudaError_t error = cudaEventRecord(slot->copying, stream);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(slot->device, slot->host, bytes, cudaMemcpyHostToDevice, stream);
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->copied, stream);
    if (error == cudaSuccess)
        error = cudaStreamWaitEvent(gpu->compute, slot->copied, 0);
    return error;
}

static cudaError_t queue_passes(struct gpu_step *gpu, struct slot *slot)
{
    dim3 grid((unsigned)((gpu->rows + TILE - 1) / TILE), (unsigned)((gpu->cols + TILE - 1) / TILE));
    cudaError_t error = cudaEventRecord(slot->begin, gpu->compute);
    const float *in = slot->device;
    if (error == cudaSuccess && gpu->preps) {
        error = prep_gpu_queue(&gpu->prep, in, &gpu->arrays, gpu->compute);
        in = gpu->arrays.smoothed;
    }
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->prepared, gpu->compute);
    for (unsigned pass = 0; pass < gpu->work && error == cudaSuccess; pass++) {
        float *out = gpu->ping[pass % 2];
        product_pass<<<grid, BLOCK_THREADS, 0, gpu->compute>>>(in, gpu->weights, out, gpu->rows,
                                                               gpu->cols);
        error = cudaGetLastError();
        in = out;
    }
    if (error == cudaSuccess)
        error = cudaEventRecord(slot->end, gpu->compute);
    return error;
}

static cudaError_t queue_result(struct gpu_step *gpu, struct slot *slot)
{
    cudaError_t error = cudaMemcpyAsync(slot->result, output(gpu), gpu->cols * sizeof(float),
                                        cudaMemcpyDeviceToHost, gpu->compute);
    return error == cudaSuccess ? cudaEventRecord(slot->done, gpu->compute) : error;
}

int gpu_step_submit(struct gpu_step *gpu, unsigned slot, struct err *err)
{
    struct slot *batch = &gpu->slot[slot];
    int rc = gpu_checked(queue_copy(gpu, batch), "copy to the GPU", err);
    if (!rc)
        rc = gpu_checked(queue_passes(gpu, batch), "GPU kernel", err);
    if (!rc)
        rc = gpu_checked(queue_result(gpu, batch), "copy from the GPU", err);
    return rc;
}

static int elapsed_ns(cudaEvent_t begin, cudaEvent_t end, uint64_t *ns, struct err *err)
{
    float ms = 0;
    int rc = gpu_checked(cudaEventElapsedTime(&ms, begin, end), "GPU time", err);
    if (!rc)
        *ns = (uint64_t)((double)ms * 1e6);
    return rc;
}

int gpu_step_wait(struct gpu_step *gpu, unsigned slot, struct gpu_step_took *took, struct err *err)
{
    struct slot *batch = &gpu->slot[slot];
    int rc = gpu_checked(cudaEventSynchronize(batch->done), "wait for the GPU", err);
    if (!rc)
        rc = elapsed_ns(batch->copying, batch->copied, &took->copy_ns, err);
    if (!rc)
        rc = elapsed_ns(batch->prepared, batch->end, &took->work_ns, err);
    took->prep_ns = 0;
    if (!rc && gpu->preps)
        rc = elapsed_ns(batch->begin, batch->prepared, &took->prep_ns, err);
    return rc;
}

int gpu_step_read(struct gpu_step *gpu, size_t first, size_t count, float *rows, struct err *err)
{
    return gpu_checked(cudaMemcpy(rows, output(gpu) + first * gpu->cols,
                                  count * gpu->cols * sizeof(float), cudaMemcpyDeviceToHost),
                       "read of the GPU's result", err);
}

int gpu_step_read_prep(struct gpu_step *gpu, const struct prep_gpu_arrays *arrays, struct err *err)
{
    size_t bytes[PREP_GPU_ARRAYS];
    struct prep_gpu_arrays to = *arrays;
    int rc = 0;
    prep_gpu_sizes(&gpu->prep, bytes);
    for (int i = 0; i < PREP_GPU_ARRAYS && !rc; i++)
        rc = gpu_checked(cudaMemcpy(*array_at(&to, i), *array_at(&gpu->arrays, i), bytes[i],
                                    cudaMemcpyDeviceToHost),
                         "read of the GPU's preprocessing", err);
    return rc;
}

static double attribute(const struct gpu_step *gpu, enum cudaDeviceAttr which)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, gpu->cuda_ordinal) != cudaSuccess)
        (void)cudaGetLastError();
    return value > 0 ? value : 0;
}

void gpu_step_peak(const struct gpu_step *gpu, double *flops, double *bytes)
{
    int major = (int)attribute(gpu, cudaDevAttrComputeCapabilityMajor);
    int minor = (int)attribute(gpu, cudaDevAttrComputeCapabilityMinor);
    bool half = major < 7 ? minor == 0 : major == 7 || (major == 8 && minor == 0);
    double a_clock = half ? 64 : 128; /* multiply-adds per clock of one multiprocessor */
    *flops = 2 * a_clock * attribute(gpu, cudaDevAttrMultiProcessorCount) * 1e3 *
             attribute(gpu, cudaDevAttrClockRate);
    *bytes = 2 * 1e3 * attribute(gpu, cudaDevAttrMemoryClockRate) *
             attribute(gpu, cudaDevAttrGlobalMemoryBusWidth) / 8;
}

static cudaError_t poison_prep(struct gpu_step *gpu)
{
    size_t bytes[PREP_GPU_ARRAYS];
    cudaError_t error = cudaSuccess;
    prep_gpu_sizes(&gpu->prep, bytes);
    for (int i = 0; i < PREP_GPU_ARRAYS && error == cudaSuccess; i++)
        error = cudaMemset(*array_at(&gpu->arrays, i), 0xff, bytes[i]);
    return error;
}

/* All bits set is a NaN. */
int gpu_step_poison(struct gpu_step *gpu, struct err *err)
{
    size_t bytes = gpu->rows * gpu->cols * sizeof(float);
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 2 && error == cudaSuccess; i++)
        error = cudaMemset(gpu->ping[i], 0xff, bytes);
    for (unsigned s = 0; s < gpu->slots; s++) {
        memset(gpu->slot[s].result, 0xff, gpu->cols * sizeof(float));
        if (error == cudaSuccess)
            error = cudaMemset(gpu->slot[s].device, 0xff, bytes);
    }
    if (error == cudaSuccess && gpu->preps)
        error = poison_prep(gpu);
    /* The streams do not wait for the default stream, where memset runs. */
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    return gpu_checked(error, "poisoning of GPU memory", err);
}

static void close_slot(struct slot *slot)
{
    cudaEvent_t events[] = {slot->done,  slot->end,    slot->prepared,
                            slot->begin, slot->copied, slot->copying};
    for (cudaEvent_t event : events)
        if (event)
            (void)cudaEventDestroy(event);
    if (slot->result)
        (void)cudaFreeHost(slot->result);
    if (slot->device)
        (void)cudaFree(slot->device);
    if (slot->locked)
        (void)cudaHostUnregister(slot->host);
}

void gpu_step_close(struct gpu_step *gpu)
{
    if (!gpu)
        return;
    if (gpu->copy)
        (void)cudaStreamSynchronize(gpu->copy);
    if (gpu->compute)
        (void)cudaStreamSynchronize(gpu->compute);
    for (unsigned s = gpu->slots; s-- > 0;)
        close_slot(&gpu->slot[s]);
    for (int i = PREP_GPU_ARRAYS - 1; i >= 0; i--)
        if (*array_at(&gpu->arrays, i))
            (void)cudaFree(*array_at(&gpu->arrays, i));
    for (int i = 1; i >= 0; i--)
        if (gpu->ping[i])
            (void)cudaFree(gpu->ping[i]);
    if (gpu->weights)
        (void)cudaFree(gpu->weights);
    if (gpu->compute)
        (void)cudaStreamDestroy(gpu->compute);
    if (gpu->copy)
        (void)cudaStreamDestroy(gpu->copy);
    free(gpu->slot);
    free(gpu);
}

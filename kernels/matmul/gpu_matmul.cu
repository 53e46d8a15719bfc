#include "kernels/matmul/gpu_matmul.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"
#include "kernels/matmul/cublaslt.cuh"
#include "kernels/matmul/gpu_matmul_choose.h"
#include "kernels/matmul/gpu_matmul_data.cuh"
#include "kernels/matmul/gpu_matmul_lt.cuh"

enum { CANDIDATES = 8 };
static const size_t workspace_bytes = 64 << 20; /* as Hopper's and later algorithms need */

static size_t a_bytes(enum matmul_type type, const struct matmul_shape *shape)
{
    return shape->m * shape->k * matmul_in_bytes(type);
}

static size_t b_bytes(enum matmul_type type, const struct matmul_shape *shape)
{
    return shape->k * shape->n * matmul_in_bytes(type);
}

static size_t c_bytes(enum matmul_type type, const struct matmul_shape *shape)
{
    return shape->m * shape->n * matmul_out_bytes(type);
}

int gpu_matmul_load(struct err *err)
{
    return cublaslt_load(err);
}

/* cuBLASLt supports bf16 and tf32 from 8.0 on, fp8 from 8.9, int8 in this layout from 7.5. */
bool gpu_matmul_has(enum matmul_type type, int cc)
{
    if (type == MATMUL_FP8)
        return cc >= 89;
    return cc >= (type == MATMUL_BF16 || type == MATMUL_TF32 ? 80 : type == MATMUL_INT8 ? 75 : 0);
}

uint64_t gpu_matmul_bytes(enum matmul_type type, const struct matmul_shape *shape)
{
    return a_bytes(type, shape) + b_bytes(type, shape) + c_bytes(type, shape) + workspace_bytes;
}

int gpu_matmul_device(const char *pci_bdf, struct gpu_matmul_device *device, struct err *err)
{
    int ordinal;
    struct cudaDeviceProp properties;
    int rc = gpu_find(pci_bdf, &ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaGetDeviceProperties(&properties, ordinal), "properties of the GPU",
                         err);
    if (rc)
        return rc;
    (void)snprintf(device->name, sizeof(device->name), "%.95s", properties.name);
    device->cc = 10 * properties.major + properties.minor;
    return 0;
}

int gpu_matmul_free_bytes(const char *pci_bdf, uint64_t *bytes, struct err *err)
{
    int ordinal;
    size_t available = 0, total = 0;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaMemGetInfo(&available, &total), "free memory of the GPU", err);
    *bytes = available;
    return rc;
}

struct gpu_matmul {
    struct lt_product product;
    uint64_t seed;
    int cuda_ordinal;
    cudaStream_t stream;
    cudaEvent_t begin[GPU_MATMUL_SLOTS], end[GPU_MATMUL_SLOTS];
    void *a, *b, *c, *workspace;
    float *one; /* product.one */
    double estimate_s, first_s;
};

static int open_stream(struct gpu_matmul *gpu, const char *pci_bdf, struct err *err)
{
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &gpu->cuda_ordinal, err);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "stream",
                         err);
    for (int slot = 0; slot < GPU_MATMUL_SLOTS && !rc; slot++) {
        rc = gpu_checked(cudaEventCreateWithFlags(&gpu->begin[slot], cudaEventBlockingSync),
                         "event", err);
        if (!rc)
            rc = gpu_checked(cudaEventCreateWithFlags(&gpu->end[slot], cudaEventBlockingSync),
                             "event", err);
    }
    return rc;
}

static struct matmul_data data_of(const struct gpu_matmul *gpu)
{
    struct matmul_data data = {};
    data.type = gpu->product.type;
    data.shape = gpu->product.shape;
    data.seed = gpu->seed;
    data.a = gpu->a;
    data.b = gpu->b;
    data.c = gpu->c;
    data.scratch = gpu->workspace;
    data.scratch_bytes = workspace_bytes;
    data.stream = gpu->stream;
    return data;
}

static int allocate(struct gpu_matmul *gpu, struct err *err)
{
    enum matmul_type type = gpu->product.type;
    const struct matmul_shape *shape = &gpu->product.shape;
    int rc = gpu_checked(cudaMalloc(&gpu->a, a_bytes(type, shape)), "matrix", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->b, b_bytes(type, shape)), "matrix", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->c, c_bytes(type, shape)), "matrix", err);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->workspace, workspace_bytes), "workspace", err);
    return rc ? rc : gpu_checked(cudaMalloc(&gpu->one, sizeof(*gpu->one)), "scale", err);
}

static int open_matrices(struct gpu_matmul *gpu, struct err *err)
{
    static const float one = 1;
    int rc = allocate(gpu, err);
    if (!rc)
        rc = gpu_checked(
            cudaMemcpyAsync(gpu->one, &one, sizeof(one), cudaMemcpyHostToDevice, gpu->stream),
            "scale", err);
    const struct matmul_data data = data_of(gpu);
    if (!rc)
        rc = gpu_checked(matmul_data_fill(&data), "filling of matrices", err);
    gpu->product.one = gpu->one;
    return rc ? rc : gpu_matmul_poison(gpu, err);
}

/* For struct matmul_trials: multiplies by the algorithm in use. */
static double multiply_some(void *arg, int, unsigned count)
{
    struct gpu_matmul *gpu = (struct gpu_matmul *)arg;
    double seconds;
    if (gpu_matmul_queue(gpu, 0, count, NULL) || gpu_matmul_wait(gpu, 0, &seconds, NULL))
        return -1;
    return seconds;
}

struct proposals {
    struct gpu_matmul *gpu;
    cublasLtMatmulHeuristicResult_t result[CANDIDATES];
    int n;
};

static double multiply_by(void *arg, int algorithm, unsigned count)
{
    struct proposals *proposals = (struct proposals *)arg;
    if (proposals->result[algorithm].state != CUBLAS_STATUS_SUCCESS)
        return -1;
    lt_product_use(&proposals->gpu->product, &proposals->result[algorithm]);
    return multiply_some(proposals->gpu, algorithm, count);
}

static int choose(struct gpu_matmul *gpu, struct err *err)
{
    struct proposals proposals = {};
    struct matmul_trials trials = {multiply_by, &proposals, 0, 0};
    proposals.gpu = gpu;
    int rc = lt_product_propose(&gpu->product, workspace_bytes, proposals.result, CANDIDATES,
                                &proposals.n, err);
    if (rc)
        return rc;
    int best = matmul_choose(&trials, proposals.n, &gpu->estimate_s);
    if (best < 0) {
        char text[MATMUL_SHAPE_TEXT];
        return err_set(err, -EIO, "cuBLASLt, %s, %s: none of %d algorithms works",
                       matmul_type_name(gpu->product.type),
                       matmul_shape_text(&gpu->product.shape, text, sizeof(text)), proposals.n);
    }
    lt_product_use(&gpu->product, &proposals.result[best]);
    gpu->first_s = trials.first_s > 0 ? trials.first_s : 0;
    return 0;
}

/* Takes the algorithm of `same_as`. A trial here loads its code on this GPU, too. */
static int take_algorithm(struct gpu_matmul *gpu, const struct gpu_matmul *same_as, struct err *err)
{
    struct matmul_trials trials = {multiply_some, gpu, 0, 0};
    gpu->product.algo = same_as->product.algo;
    gpu->product.algo_workspace_bytes = same_as->product.algo_workspace_bytes;
    gpu->estimate_s = matmul_try(&trials, 0);
    return gpu->estimate_s > 0 ? 0 : choose(gpu, err);
}

static int open_all(struct gpu_matmul *gpu, const struct gpu_matmul_config *config, struct err *err)
{
    int rc = open_stream(gpu, config->pci_bdf, err);
    if (!rc)
        rc = open_matrices(gpu, err);
    if (!rc)
        rc = lt_product_open(&gpu->product, err);
    if (rc)
        return rc;
    return config->same_as ? take_algorithm(gpu, config->same_as, err) : choose(gpu, err);
}

int gpu_matmul_open(const struct gpu_matmul_config *config, struct gpu_matmul **gpu,
                    struct err *err)
{
    *gpu = NULL;
    int rc = matmul_takes(config->type, &config->shape, err);
    if (rc)
        return rc;
    struct gpu_matmul *opened = (struct gpu_matmul *)calloc(1, sizeof(*opened));
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of a GPU");
    }
    opened->product.type = config->type;
    opened->product.shape = config->shape;
    opened->seed = config->seed;
    rc = open_all(opened, config, err);
    if (rc)
        gpu_matmul_close(opened);
    else
        *gpu = opened;
    return rc;
}

double gpu_matmul_estimate_s(const struct gpu_matmul *gpu)
{
    return gpu->estimate_s;
}

double gpu_matmul_first_s(const struct gpu_matmul *gpu)
{
    return gpu->first_s;
}

static int select_device(const struct gpu_matmul *gpu, struct err *err)
{
    return gpu_checked(cudaSetDevice(gpu->cuda_ordinal), "cannot use the GPU", err);
}

int gpu_matmul_queue(struct gpu_matmul *gpu, unsigned slot, unsigned count, struct err *err)
{
    const struct lt_memory memory = {gpu->a, gpu->b, gpu->c, gpu->workspace, gpu->stream};
    int rc = select_device(gpu, err);
    if (!rc)
        rc = gpu_checked(cudaEventRecord(gpu->begin[slot], gpu->stream), "event", err);
    for (unsigned i = 0; i < count && !rc; i++)
        rc = lt_checked(lt_product_multiply(&gpu->product, &memory), "matrix product", err);
    return rc ? rc : gpu_checked(cudaEventRecord(gpu->end[slot], gpu->stream), "event", err);
}

int gpu_matmul_done(struct gpu_matmul *gpu, unsigned slot, bool *done, struct err *err)
{
    cudaError_t error = cudaEventQuery(gpu->end[slot]);
    *done = error == cudaSuccess;
    return error == cudaErrorNotReady ? 0 : gpu_checked(error, "matrix product", err);
}

int gpu_matmul_wait(struct gpu_matmul *gpu, unsigned slot, double *seconds, struct err *err)
{
    float took_ms = 0;
    int rc = gpu_checked(cudaEventSynchronize(gpu->end[slot]), "wait for the GPU", err);
    if (!rc)
        rc = gpu_checked(cudaEventElapsedTime(&took_ms, gpu->begin[slot], gpu->end[slot]),
                         "GPU time", err);
    *seconds = (double)took_ms * 1e-3;
    return rc;
}

/* 0xff bytes are NaN; for int32, 0x80 bytes are a value that no sum has (gpu_matmul_data.h). */
int gpu_matmul_poison(struct gpu_matmul *gpu, struct err *err)
{
    enum matmul_type type = gpu->product.type;
    int poison = type == MATMUL_INT8 ? 0x80 : 0xff;
    int rc = select_device(gpu, err);
    if (!rc)
        rc = gpu_checked(
            cudaMemsetAsync(gpu->c, poison, c_bytes(type, &gpu->product.shape), gpu->stream),
            "poisoning of a matrix", err);
    return rc ? rc : gpu_checked(cudaStreamSynchronize(gpu->stream), "poisoning", err);
}

void *gpu_matmul_c(struct gpu_matmul *gpu)
{
    return gpu->c;
}

int gpu_matmul_check(struct gpu_matmul *gpu, struct err *err)
{
    const struct matmul_data data = data_of(gpu);
    struct freivalds sums = {};
    int rc = select_device(gpu, err);
    if (!rc)
        rc = matmul_data_residuals(&data, &sums, err);
    return rc ? rc : freivalds_judge(&sums, data.type, &data.shape, err);
}

void gpu_matmul_close(struct gpu_matmul *gpu)
{
    if (!gpu)
        return;
    (void)cudaSetDevice(gpu->cuda_ordinal);
    if (gpu->stream)
        (void)cudaStreamSynchronize(gpu->stream);
    lt_product_close(&gpu->product);
    (void)cudaFree(gpu->a);
    (void)cudaFree(gpu->b);
    (void)cudaFree(gpu->c);
    (void)cudaFree(gpu->workspace);
    (void)cudaFree(gpu->one);
    for (int slot = 0; slot < GPU_MATMUL_SLOTS; slot++) {
        if (gpu->begin[slot])
            (void)cudaEventDestroy(gpu->begin[slot]);
        if (gpu->end[slot])
            (void)cudaEventDestroy(gpu->end[slot]);
    }
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    free(gpu);
}

#include "kernels/matmul/gpu_matmul.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernels/gpu/gpu_common.cuh"
#include "kernels/matmul/cublaslt.cuh"
#include "kernels/matmul/gpu_matmul_choose.h"
#include "kernels/matmul/gpu_matmul_data.cuh"

enum { CANDIDATES = 8 };
static const size_t workspace_bytes = 64 << 20; /* what Hopper's and later algorithms ask for */

static const size_t in_bytes[MATMUL_TYPES] = {8, 4, 4, 2, 2, 1};
static const size_t out_bytes[MATMUL_TYPES] = {8, 4, 4, 2, 2, 2};

int gpu_matmul_load(char *msg, size_t size)
{
    return cublaslt_load(msg, size);
}

/* cuBLASLt has bf16 and tf32 from 8.0 on, fp8 from 8.9 on. */
bool gpu_matmul_has(enum matmul_type type, int cc)
{
    if (type == MATMUL_FP8)
        return cc >= 89;
    return cc >= 80 || (type != MATMUL_BF16 && type != MATMUL_TF32);
}

uint64_t gpu_matmul_bytes(enum matmul_type type, size_t n)
{
    return (uint64_t)n * n * (2 * in_bytes[type] + out_bytes[type]) + workspace_bytes;
}

int gpu_matmul_device(const char *pci_bdf, struct gpu_matmul_device *device, char *msg, size_t size)
{
    int ordinal;
    struct cudaDeviceProp properties;
    int rc = gpu_find(pci_bdf, &ordinal, msg, size);
    if (!rc)
        rc = gpu_checked(cudaGetDeviceProperties(&properties, ordinal), "properties of the GPU",
                         msg, size);
    if (rc)
        return rc;
    (void)snprintf(device->name, sizeof(device->name), "%.95s", properties.name);
    device->cc = 10 * properties.major + properties.minor;
    return 0;
}

int gpu_matmul_free_bytes(const char *pci_bdf, uint64_t *bytes, char *msg, size_t size)
{
    int ordinal;
    size_t available = 0, total = 0;
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &ordinal, msg, size);
    if (!rc)
        rc = gpu_checked(cudaMemGetInfo(&available, &total), "free memory of the GPU", msg, size);
    *bytes = available;
    return rc;
}

#ifdef CONTEND_HAVE_CUBLASLT

struct gpu_matmul {
    enum matmul_type type;
    size_t n;
    uint64_t seed;
    int cuda_ordinal;
    cudaStream_t stream;
    cudaEvent_t begin[GPU_MATMUL_SLOTS], end[GPU_MATMUL_SLOTS];
    void *a, *b, *c, *workspace;
    float *one; /* on the device: the scale of fp8 */
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout_in, layout_out;
    cublasLtMatmulAlgo_t algo;
    size_t algo_workspace_bytes;
    double guess_s, first_s;
};

static const struct {
    cudaDataType_t in, out, scale;
    cublasComputeType_t compute;
} kinds[MATMUL_TYPES] = {
    {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
    {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
    {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
};

static int lt_fail(cublasStatus_t status, const char *what, char *msg, size_t size)
{
    (void)snprintf(msg, size, "%s: %s", what, cublaslt()->status_name(status));
    switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return -ENOMEM;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_INITIALIZED: /* also a driver that is too old for this cuBLASLt */
        return -ENOTSUP;
    default:
        return -EIO;
    }
}

static int lt_checked(cublasStatus_t status, const char *what, char *msg, size_t size)
{
    return status == CUBLAS_STATUS_SUCCESS ? 0 : lt_fail(status, what, msg, size);
}

static int open_stream(struct gpu_matmul *gpu, const char *pci_bdf, char *msg, size_t size)
{
    int rc = gpu_open(pci_bdf, cudaDeviceScheduleBlockingSync, &gpu->cuda_ordinal, msg, size);
    if (!rc)
        rc = gpu_checked(cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking), "stream",
                         msg, size);
    for (int slot = 0; slot < GPU_MATMUL_SLOTS && !rc; slot++) {
        rc = gpu_checked(cudaEventCreateWithFlags(&gpu->begin[slot], cudaEventBlockingSync),
                         "event", msg, size);
        if (!rc)
            rc = gpu_checked(cudaEventCreateWithFlags(&gpu->end[slot], cudaEventBlockingSync),
                             "event", msg, size);
    }
    return rc;
}

static struct matmul_data data_of(const struct gpu_matmul *gpu)
{
    struct matmul_data data = {};
    data.type = gpu->type;
    data.n = gpu->n;
    data.seed = gpu->seed;
    data.a = gpu->a;
    data.b = gpu->b;
    data.c = gpu->c;
    data.scratch = gpu->workspace;
    data.scratch_bytes = workspace_bytes;
    data.stream = gpu->stream;
    return data;
}

static int open_matrices(struct gpu_matmul *gpu, char *msg, size_t size)
{
    size_t entries = gpu->n * gpu->n;
    static const float one = 1;
    int rc = gpu_checked(cudaMalloc(&gpu->a, entries * in_bytes[gpu->type]), "matrix", msg, size);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->b, entries * in_bytes[gpu->type]), "matrix", msg, size);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->c, entries * out_bytes[gpu->type]), "matrix", msg, size);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->workspace, workspace_bytes), "workspace", msg, size);
    if (!rc)
        rc = gpu_checked(cudaMalloc(&gpu->one, sizeof(one)), "scale", msg, size);
    if (!rc)
        rc = gpu_checked(
            cudaMemcpyAsync(gpu->one, &one, sizeof(one), cudaMemcpyHostToDevice, gpu->stream),
            "scale", msg, size);
    const struct matmul_data data = data_of(gpu);
    if (!rc)
        rc = gpu_checked(matmul_data_fill(&data), "filling of matrices", msg, size);
    return rc ? rc : gpu_matmul_poison(gpu, msg, size);
}

/* fp8 needs A transposed and B not; the others can have it so too. */
static int describe(struct gpu_matmul *gpu, char *msg, size_t size)
{
    const struct cublaslt_api *lt = cublaslt();
    cublasOperation_t transposed = CUBLAS_OP_T;
    int8_t fast = 1;
    int64_t n = (int64_t)gpu->n;
    cublasStatus_t status =
        lt->desc_create(&gpu->desc, kinds[gpu->type].compute, kinds[gpu->type].scale);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            lt->desc_set(gpu->desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed));
    if (status == CUBLAS_STATUS_SUCCESS && gpu->type == MATMUL_FP8)
        status = lt->desc_set(gpu->desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &gpu->one,
                              sizeof(gpu->one));
    if (status == CUBLAS_STATUS_SUCCESS && gpu->type == MATMUL_FP8)
        status = lt->desc_set(gpu->desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &gpu->one,
                              sizeof(gpu->one));
    if (status == CUBLAS_STATUS_SUCCESS && gpu->type == MATMUL_FP8)
        status = lt->desc_set(gpu->desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->layout_create(&gpu->layout_in, kinds[gpu->type].in, gpu->n, gpu->n, n);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->layout_create(&gpu->layout_out, kinds[gpu->type].out, gpu->n, gpu->n, n);
    return lt_checked(status, "description of a matrix product", msg, size);
}

static cublasStatus_t multiply(struct gpu_matmul *gpu)
{
    static const double one = 1, zero = 0;
    static const float one_f = 1, zero_f = 0;
    bool wide = kinds[gpu->type].scale == CUDA_R_64F;
    const void *alpha = wide ? (const void *)&one : (const void *)&one_f;
    const void *beta = wide ? (const void *)&zero : (const void *)&zero_f;
    return cublaslt()->matmul(gpu->handle, gpu->desc, alpha, gpu->a, gpu->layout_in, gpu->b,
                              gpu->layout_in, beta, gpu->c, gpu->layout_out, gpu->c,
                              gpu->layout_out, &gpu->algo, gpu->workspace,
                              gpu->algo_workspace_bytes, gpu->stream);
}

static int propose(struct gpu_matmul *gpu, cublasLtMatmulHeuristicResult_t *results, int *found,
                   char *msg, size_t size)
{
    const struct cublaslt_api *lt = cublaslt();
    char what[64];
    cublasLtMatmulPreference_t preference = NULL;
    cublasStatus_t status = lt->preference_create(&preference);
    *found = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &workspace_bytes, sizeof(workspace_bytes));
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            lt->heuristic(gpu->handle, gpu->desc, gpu->layout_in, gpu->layout_in, gpu->layout_out,
                          gpu->layout_out, preference, CANDIDATES, results, found);
    if (preference)
        (void)lt->preference_destroy(preference);
    if (status == CUBLAS_STATUS_SUCCESS && *found == 0)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    (void)snprintf(what, sizeof(what), "cuBLASLt, %s, n = %zu", matmul_type_name(gpu->type),
                   gpu->n);
    return lt_checked(status, what, msg, size);
}

static void use(struct gpu_matmul *gpu, const cublasLtMatmulHeuristicResult_t *result)
{
    gpu->algo = result->algo;
    gpu->algo_workspace_bytes = result->workspaceSize;
}

/* For struct matmul_trials: by the algorithm that is in use. */
static double multiply_some(void *arg, int, unsigned count)
{
    struct gpu_matmul *gpu = (struct gpu_matmul *)arg;
    char msg[200];
    double seconds;
    if (gpu_matmul_queue(gpu, 0, count, msg, sizeof(msg)) ||
        gpu_matmul_wait(gpu, 0, &seconds, msg, sizeof(msg)))
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
    use(proposals->gpu, &proposals->result[algorithm]);
    return multiply_some(proposals->gpu, algorithm, count);
}

static int choose(struct gpu_matmul *gpu, char *msg, size_t size)
{
    struct proposals proposals = {};
    struct matmul_trials trials = {multiply_by, &proposals, 0, 0};
    proposals.gpu = gpu;
    int rc = propose(gpu, proposals.result, &proposals.n, msg, size);
    if (rc)
        return rc;
    int best = matmul_choose(&trials, proposals.n, &gpu->guess_s);
    if (best < 0) {
        (void)snprintf(msg, size, "cuBLASLt, %s, n = %zu: none of %d algorithms works",
                       matmul_type_name(gpu->type), gpu->n, proposals.n);
        return -EIO;
    }
    use(gpu, &proposals.result[best]);
    gpu->first_s = trials.first_s > 0 ? trials.first_s : 0;
    return 0;
}

/* Tried here too: the code is loaded for each GPU. */
static int take_algorithm(struct gpu_matmul *gpu, const struct gpu_matmul *like, char *msg,
                          size_t size)
{
    struct matmul_trials trials = {multiply_some, gpu, 0, 0};
    gpu->algo = like->algo;
    gpu->algo_workspace_bytes = like->algo_workspace_bytes;
    gpu->guess_s = matmul_try(&trials, 0);
    return gpu->guess_s > 0 ? 0 : choose(gpu, msg, size);
}

static int open_all(struct gpu_matmul *gpu, const struct gpu_matmul_config *config, char *msg,
                    size_t size)
{
    int rc = open_stream(gpu, config->pci_bdf, msg, size);
    if (!rc)
        rc = open_matrices(gpu, msg, size);
    if (!rc)
        rc = lt_checked(cublaslt_start(&gpu->handle), "start of cuBLASLt", msg, size);
    if (!rc)
        rc = describe(gpu, msg, size);
    if (rc)
        return rc;
    return config->like ? take_algorithm(gpu, config->like, msg, size) : choose(gpu, msg, size);
}

int gpu_matmul_open(const struct gpu_matmul_config *config, struct gpu_matmul **gpu, char *msg,
                    size_t size)
{
    *gpu = NULL;
    struct gpu_matmul *opened = (struct gpu_matmul *)calloc(1, sizeof(*opened));
    if (!opened) {
        (void)snprintf(msg, size, "cannot allocate the state of a GPU");
        return -ENOMEM;
    }
    opened->type = config->type;
    opened->n = config->n;
    opened->seed = config->seed;
    int rc = open_all(opened, config, msg, size);
    if (rc)
        gpu_matmul_close(opened);
    else
        *gpu = opened;
    return rc;
}

double gpu_matmul_guess(const struct gpu_matmul *gpu)
{
    return gpu->guess_s;
}

double gpu_matmul_first(const struct gpu_matmul *gpu)
{
    return gpu->first_s;
}

static int select_device(const struct gpu_matmul *gpu, char *msg, size_t size)
{
    return gpu_checked(cudaSetDevice(gpu->cuda_ordinal), "cannot use the GPU", msg, size);
}

int gpu_matmul_queue(struct gpu_matmul *gpu, unsigned slot, unsigned count, char *msg, size_t size)
{
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    int rc = select_device(gpu, msg, size);
    if (!rc)
        rc = gpu_checked(cudaEventRecord(gpu->begin[slot], gpu->stream), "event", msg, size);
    for (unsigned i = 0; i < count && !rc; i++) {
        status = multiply(gpu);
        rc = lt_checked(status, "matrix product", msg, size);
    }
    return rc ? rc : gpu_checked(cudaEventRecord(gpu->end[slot], gpu->stream), "event", msg, size);
}

int gpu_matmul_done(struct gpu_matmul *gpu, unsigned slot, bool *done, char *msg, size_t size)
{
    cudaError_t error = cudaEventQuery(gpu->end[slot]);
    *done = error == cudaSuccess;
    return error == cudaErrorNotReady ? 0 : gpu_checked(error, "matrix product", msg, size);
}

int gpu_matmul_wait(struct gpu_matmul *gpu, unsigned slot, double *seconds, char *msg, size_t size)
{
    float took_ms = 0;
    int rc = gpu_checked(cudaEventSynchronize(gpu->end[slot]), "wait for the GPU", msg, size);
    if (!rc)
        rc = gpu_checked(cudaEventElapsedTime(&took_ms, gpu->begin[slot], gpu->end[slot]),
                         "GPU time", msg, size);
    *seconds = (double)took_ms * 1e-3;
    return rc;
}

int gpu_matmul_poison(struct gpu_matmul *gpu, char *msg, size_t size)
{
    int rc = select_device(gpu, msg, size);
    if (!rc)
        rc = gpu_checked(
            cudaMemsetAsync(gpu->c, 0xff, gpu->n * gpu->n * out_bytes[gpu->type], gpu->stream),
            "poisoning of a matrix", msg, size);
    return rc ? rc : gpu_checked(cudaStreamSynchronize(gpu->stream), "poisoning", msg, size);
}

union entry {
    double fp64;
    float fp32;
    __half_raw fp16;
    __nv_bfloat16_raw bf16;
};

static double widen(const union entry *entry, cudaDataType_t type)
{
    switch (type) {
    case CUDA_R_64F:
        return entry->fp64;
    case CUDA_R_32F:
        return (double)entry->fp32;
    case CUDA_R_16F:
        return (double)__half2float(__half(entry->fp16));
    default:
        return (double)__bfloat162float(__nv_bfloat16(entry->bf16));
    }
}

static void narrow(union entry *entry, cudaDataType_t type, double value)
{
    switch (type) {
    case CUDA_R_64F:
        entry->fp64 = value;
        break;
    case CUDA_R_32F:
        entry->fp32 = (float)value;
        break;
    case CUDA_R_16F:
        entry->fp16 = __half_raw(__float2half_rn((float)value));
        break;
    default:
        entry->bf16 = __nv_bfloat16_raw(__float2bfloat16_rn((float)value));
    }
}

int gpu_matmul_read(struct gpu_matmul *gpu, size_t row, size_t col, double *value, char *msg,
                    size_t size)
{
    union entry entry = {};
    size_t bytes = out_bytes[gpu->type];
    const char *from = (const char *)gpu->c + (col * gpu->n + row) * bytes;
    int rc = select_device(gpu, msg, size);
    if (!rc)
        rc = gpu_checked(cudaMemcpyAsync(&entry, from, bytes, cudaMemcpyDeviceToHost, gpu->stream),
                         "copy of a result", msg, size);
    if (!rc)
        rc = gpu_checked(cudaStreamSynchronize(gpu->stream), "copy of a result", msg, size);
    *value = widen(&entry, kinds[gpu->type].out);
    return rc;
}

int gpu_matmul_write(struct gpu_matmul *gpu, size_t row, size_t col, double value, char *msg,
                     size_t size)
{
    union entry entry = {};
    size_t bytes = out_bytes[gpu->type];
    narrow(&entry, kinds[gpu->type].out, value);
    int rc = select_device(gpu, msg, size);
    return rc ? rc
              : gpu_checked(cudaMemcpy((char *)gpu->c + (col * gpu->n + row) * bytes, &entry, bytes,
                                       cudaMemcpyHostToDevice),
                            "copy of an entry", msg, size);
}

int gpu_matmul_check(struct gpu_matmul *gpu, char *msg, size_t size)
{
    const struct matmul_data data = data_of(gpu);
    struct freivalds sums = {};
    int rc = select_device(gpu, msg, size);
    if (!rc)
        rc = matmul_data_residuals(&data, &sums, msg, size);
    return rc ? rc : freivalds_judge(&sums, gpu->type, gpu->n, msg, size);
}

void gpu_matmul_close(struct gpu_matmul *gpu)
{
    if (!gpu)
        return;
    const struct cublaslt_api *lt = cublaslt();
    (void)cudaSetDevice(gpu->cuda_ordinal);
    if (gpu->stream)
        (void)cudaStreamSynchronize(gpu->stream);
    if (gpu->layout_out)
        (void)lt->layout_destroy(gpu->layout_out);
    if (gpu->layout_in)
        (void)lt->layout_destroy(gpu->layout_in);
    if (gpu->desc)
        (void)lt->desc_destroy(gpu->desc);
    if (gpu->handle)
        (void)lt->destroy(gpu->handle);
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

#endif

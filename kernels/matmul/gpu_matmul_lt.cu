#include "kernels/matmul/gpu_matmul_lt.cuh"

#include <cerrno>
#include <cstdint>
#include <cstdio>

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
    {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I},
};

int lt_checked(cublasStatus_t status, const char *what, struct err *err)
{
    if (status == CUBLAS_STATUS_SUCCESS)
        return 0;
    bool unsupported = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                       status == CUBLAS_STATUS_ARCH_MISMATCH ||
                       /* also if the driver is too old for this cuBLASLt */
                       status == CUBLAS_STATUS_NOT_INITIALIZED;
    int code = status == CUBLAS_STATUS_ALLOC_FAILED ? -ENOMEM : unsupported ? -ENOTSUP : -EIO;
    return err_set(err, code, "%s: %s", what, cublaslt()->status_name(status));
}

static cublasStatus_t describe_operation(struct lt_product *product)
{
    const struct cublaslt_api *lt = cublaslt();
    cublasOperation_t a = matmul_a_is_transposed(&product->shape) ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t b = matmul_b_is_transposed(&product->shape) ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasStatus_t status =
        lt->desc_create(&product->desc, kinds[product->type].compute, kinds[product->type].scale);
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(product->desc, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof(a));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(product->desc, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof(b));
    return status;
}

static cublasStatus_t describe_fp8(struct lt_product *product)
{
    const struct cublaslt_api *lt = cublaslt();
    int8_t fast = 1;
    cublasStatus_t status = lt->desc_set(product->desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
                                         &product->one, sizeof(product->one));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(product->desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &product->one,
                              sizeof(product->one));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->desc_set(product->desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof(fast));
    return status;
}

/* Describes a matrix of rows x columns without gaps, or its transpose. */
static cublasStatus_t describe_matrix(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                      size_t rows, size_t columns, bool transposed)
{
    size_t height = transposed ? columns : rows, width = transposed ? rows : columns;
    return cublaslt()->layout_create(layout, type, height, width, (int64_t)height);
}

static cublasStatus_t describe(struct lt_product *product)
{
    const struct matmul_shape *shape = &product->shape;
    cudaDataType_t in = kinds[product->type].in, out = kinds[product->type].out;
    cublasStatus_t status = describe_operation(product);
    if (status == CUBLAS_STATUS_SUCCESS && product->type == MATMUL_FP8)
        status = describe_fp8(product);
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            describe_matrix(&product->a, in, shape->m, shape->k, matmul_a_is_transposed(shape));
    if (status == CUBLAS_STATUS_SUCCESS)
        status =
            describe_matrix(&product->b, in, shape->k, shape->n, matmul_b_is_transposed(shape));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = describe_matrix(&product->c, out, shape->m, shape->n, false);
    return status;
}

int lt_product_open(struct lt_product *product, struct err *err)
{
    int rc = lt_checked(cublaslt_start(&product->handle), "start of cuBLASLt", err);
    return rc ? rc : lt_checked(describe(product), "description of a matrix product", err);
}

/* cuBLASLt calls a combination that it does not know an invalid value; that is -ENOTSUP, too. */
int lt_product_propose(const struct lt_product *product, size_t workspace_bytes,
                       cublasLtMatmulHeuristicResult_t *results, int most, int *found,
                       struct err *err)
{
    const struct cublaslt_api *lt = cublaslt();
    char what[64 + MATMUL_SHAPE_TEXT], text[MATMUL_SHAPE_TEXT];
    cublasLtMatmulPreference_t preference = NULL;
    cublasStatus_t status = lt->preference_create(&preference);
    *found = 0;
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                    &workspace_bytes, sizeof(workspace_bytes));
    if (status == CUBLAS_STATUS_SUCCESS)
        status = lt->heuristic(product->handle, product->desc, product->a, product->b, product->c,
                               product->c, preference, most, results, found);
    if (preference)
        (void)lt->preference_destroy(preference);
    if (status == CUBLAS_STATUS_SUCCESS && *found == 0)
        status = CUBLAS_STATUS_NOT_SUPPORTED;
    (void)snprintf(what, sizeof(what), "cuBLASLt, %s, %s", matmul_type_name(product->type),
                   matmul_shape_text(&product->shape, text, sizeof(text)));
    int rc = lt_checked(status, what, err);
    return status == CUBLAS_STATUS_INVALID_VALUE ? -ENOTSUP : rc;
}

void lt_product_use(struct lt_product *product, const cublasLtMatmulHeuristicResult_t *result)
{
    product->algo = result->algo;
    product->algo_workspace_bytes = result->workspaceSize;
}

cublasStatus_t lt_product_multiply(const struct lt_product *product, const struct lt_memory *memory)
{
    static const double one = 1, zero = 0;
    static const float one_f = 1, zero_f = 0;
    static const int32_t one_i = 1, zero_i = 0;
    const void *alpha = &one_f, *beta = &zero_f;
    if (kinds[product->type].scale == CUDA_R_64F) {
        alpha = &one;
        beta = &zero;
    }
    if (kinds[product->type].scale == CUDA_R_32I) {
        alpha = &one_i;
        beta = &zero_i;
    }
    return cublaslt()->matmul(product->handle, product->desc, alpha, memory->a, product->a,
                              memory->b, product->b, beta, memory->c, product->c, memory->c,
                              product->c, &product->algo, memory->workspace,
                              product->algo_workspace_bytes, memory->stream);
}

void lt_product_close(struct lt_product *product)
{
    const struct cublaslt_api *lt = cublaslt();
    if (product->c)
        (void)lt->layout_destroy(product->c);
    if (product->b)
        (void)lt->layout_destroy(product->b);
    if (product->a)
        (void)lt->layout_destroy(product->a);
    if (product->desc)
        (void)lt->desc_destroy(product->desc);
    if (product->handle)
        (void)lt->destroy(product->handle);
}

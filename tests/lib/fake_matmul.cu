#include "tests/lib/fake_matmul.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <cublasLt.h>

#include "fake_stream.h"
#include "tests/lib/fixture_storage.h"

struct fake_matmul fake_matmul;

struct fake_handle {
};
struct fake_preference {
};

struct fake_layout {
    struct fake_matrix matrix;
};

struct fake_desc {
    cublasComputeType_t compute;
    cudaDataType_t scale;
    cublasOperation_t a = CUBLAS_OP_N, b = CUBLAS_OP_N;
    const float *a_scale = nullptr, *b_scale = nullptr;
    bool fast = false;
};

template <typename T> static cublasStatus_t make(T **made, T value)
{
    *made = new T(value);
    fake_matmul.open++;
    return CUBLAS_STATUS_SUCCESS;
}

template <typename T> static cublasStatus_t destroy(T *made)
{
    delete made;
    fake_matmul.open--;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    return make(handle, fake_handle());
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return destroy(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    fake_desc made = {compute, scale};
    return make(desc, made);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return destroy(desc);
}

template <typename T> static cublasStatus_t set(T *to, const void *value, size_t bytes)
{
    if (bytes != sizeof(*to))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(to, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void *value, size_t bytes)
{
    switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(&desc->a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(&desc->b, value, bytes);
    case CUBLASLT_MATMUL_DESC_A_SCALE_POINTER:
        return set(&desc->a_scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_B_SCALE_POINTER:
        return set(&desc->b_scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:
        return set(&desc->fast, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t leading)
{
    fake_layout made = {{rows, columns, (size_t)leading, type}};
    return make(layout, made);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    return make(preference, fake_preference());
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void *, size_t bytes)
{
    return bytes == sizeof(size_t) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    default:
        return "a made-up status";
    }
}

size_t cublasLtGetVersion(void)
{
    return 130203;
}

/* A product in BLAS terms: rows, columns and summed length after the transpositions. */
struct meaning {
    size_t m, n, k;
};

static bool means(const fake_desc *desc, const fake_matrix &a, const fake_matrix &b,
                  const fake_matrix &c, meaning *meant)
{
    size_t k_of_b = desc->b == CUBLAS_OP_T ? b.columns : b.rows;
    meant->m = desc->a == CUBLAS_OP_T ? a.columns : a.rows;
    meant->k = desc->a == CUBLAS_OP_T ? a.rows : a.columns;
    meant->n = desc->b == CUBLAS_OP_T ? b.rows : b.columns;
    return meant->k == k_of_b && c.rows == meant->m && c.columns == meant->n &&
           a.leading >= a.rows && b.leading >= b.rows && c.leading >= c.rows && a.type == b.type;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t, int most,
                                              cublasLtMatmulHeuristicResult_t *results, int *found)
{
    meaning meant;
    bool tn = desc->a == CUBLAS_OP_T && desc->b == CUBLAS_OP_N;
    bool scaled = desc->a_scale && desc->b_scale && *desc->a_scale == 1 && *desc->b_scale == 1;
    if (c != d || !means(desc, a->matrix, b->matrix, c->matrix, &meant) || most < 1)
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a->matrix.type == CUDA_R_8F_E4M3 && !(tn && scaled && desc->fast))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (a->matrix.type == CUDA_R_8I && !tn)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    *found = 1;
    *results = {};
    return CUBLAS_STATUS_SUCCESS;
}

static matmul_storage storage_of(int type)
{
    switch (type) {
    case CUDA_R_64F:
        return MATMUL_AS_DOUBLE;
    case CUDA_R_16F:
        return MATMUL_AS_FP16;
    case CUDA_R_16BF:
        return MATMUL_AS_BF16;
    case CUDA_R_8F_E4M3:
        return MATMUL_AS_E4M3;
    case CUDA_R_8I:
        return MATMUL_AS_INT8;
    case CUDA_R_32I:
        return MATMUL_AS_INT32;
    default:
        return MATMUL_AS_FLOAT;
    }
}

static size_t place(const fake_matrix &matrix, size_t row, size_t column)
{
    return (column * matrix.leading + row) % (matrix.leading * matrix.columns);
}

/* All entries, in double. */
static std::vector<double> load(const fake_matrix &matrix, const void *base)
{
    matmul_storage storage = storage_of(matrix.type);
    std::vector<double> entries(matrix.leading * matrix.columns);
    for (size_t i = 0; i < entries.size(); i++)
        entries[i] = matmul_storage_get(storage, static_cast<const char *>(base) +
                                                     i * matmul_storage_bytes(storage));
    return entries;
}

struct work {
    fake_matrix a, b, c;
    bool a_transposed, b_transposed;
    const void *a_base, *b_base;
    void *c_base;
    meaning meant;
    fake_matmul_wrong wrong;
};

static void put(const work &w, size_t row, size_t column, double value)
{
    matmul_storage storage = storage_of(w.c.type);
    size_t i = w.wrong == FAKE_MATMUL_OTHER_C ? row * w.meant.n + column : place(w.c, row, column);
    matmul_storage_put(storage, static_cast<char *>(w.c_base) + i * matmul_storage_bytes(storage),
                       value);
}

static void multiply(const work &w)
{
    const std::vector<double> a = load(w.a, w.a_base), b = load(w.b, w.b_base);
    size_t m = w.meant.m, n = w.meant.n, terms = w.meant.k - (w.wrong == FAKE_MATMUL_SHORT);
    bool a_transposed = w.a_transposed != (w.wrong == FAKE_MATMUL_OTHER_A);
    bool b_transposed = w.b_transposed != (w.wrong == FAKE_MATMUL_OTHER_B);
    double off = w.c.type == CUDA_R_32I ? 1 : 4 * sqrt((double)w.meant.k);
    for (size_t i = 0; i < m * n; i++) {
        size_t row = i % m, column = i / m;
        bool last = i == m * n - 1;
        double sum = last && w.wrong == FAKE_MATMUL_ONE_OFF ? off : 0;
        for (size_t k = 0; k < terms; k++)
            sum += a[a_transposed ? place(w.a, k, row) : place(w.a, row, k)] *
                   b[b_transposed ? place(w.b, column, k) : place(w.b, k, column)];
        if (!last || w.wrong != FAKE_MATMUL_UNWRITTEN)
            put(w, row, column, sum);
    }
}

/* The value of alpha or beta, by the type of scales. */
static double scalar(cudaDataType_t type, const void *from)
{
    return type == CUDA_R_64F   ? *static_cast<const double *>(from)
           : type == CUDA_R_32I ? *static_cast<const int32_t *>(from)
                                : (double)*static_cast<const float *>(from);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
                              cublasLtMatrixLayout_t b_layout, const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *, void *,
                              size_t, cudaStream_t stream)
{
    work w = {a_layout->matrix,
              b_layout->matrix,
              c_layout->matrix,
              desc->a == CUBLAS_OP_T,
              desc->b == CUBLAS_OP_T,
              a,
              b,
              d,
              {},
              fake_matmul.wrong};
    if (c != d || c_layout != d_layout || scalar(desc->scale, alpha) != 1 ||
        scalar(desc->scale, beta) != 0 || !means(desc, w.a, w.b, w.c, &w.meant))
        return CUBLAS_STATUS_INVALID_VALUE;
    fake_matmul.a = w.a;
    fake_matmul.b = w.b;
    fake_matmul.c = w.c;
    fake_matmul.a_transposed = w.a_transposed;
    fake_matmul.b_transposed = w.b_transposed;
    fake_matmul.compute = desc->compute;
    fake_matmul.scale = desc->scale;
    fake_matmul.products++;
    fake_enqueue(stream, [=] { multiply(w); });
    return CUBLAS_STATUS_SUCCESS;
}

/*
 * The description of one product for cuBLASLt, for .cu files: types, layouts, algorithms. Functions
 * with an err return 0 or a code of gpu/gpu_common.h. The caller owns the memory.
 *
 *   struct lt_product product = {.type = MATMUL_INT8, .shape = {m, n, k, MATMUL_TN}, .one = one};
 *   rc = lt_product_open(&product, err);
 *   rc = lt_product_propose(&product, bytes, results, 8, &found, err);
 *   lt_product_use(&product, &results[0]);
 *   status = lt_product_multiply(&product, &memory);
 *   lt_product_close(&product);
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_LT_CUH
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_LT_CUH

#include <cuda_runtime.h>

#include "kernels/matmul/cublaslt.cuh"
#include "kernels/matmul/gpu_matmul_ref.h"

struct lt_product {
    enum matmul_type type;
    struct matmul_shape shape;
    const float *one; /* on the device: the scale of fp8 */
    /* Set by lt_product_open. */
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    /* Set by lt_product_use. */
    cublasLtMatmulAlgo_t algo;
    size_t algo_workspace_bytes;
};

/* On the device; gpu_matmul_shape.h says where entries are. */
struct lt_memory {
    const void *a, *b;
    void *c, *workspace;
    cudaStream_t stream;
};

/* 0, or an error with `what` and cuBLASLt's name of the status in err. */
int lt_checked(cublasStatus_t status, const char *what, struct err *err);

/* Call lt_product_close also after an error. */
int lt_product_open(struct lt_product *product, struct err *err);

/* Proposes at most `most` algorithms, the best first by its estimate. -ENOTSUP: none. */
int lt_product_propose(const struct lt_product *product, size_t workspace_bytes,
                       cublasLtMatmulHeuristicResult_t *results, int most, int *found,
                       struct err *err);

void lt_product_use(struct lt_product *product, const cublasLtMatmulHeuristicResult_t *result);

/* Queues one product. */
cublasStatus_t lt_product_multiply(const struct lt_product *product,
                                   const struct lt_memory *memory);

void lt_product_close(struct lt_product *product);

#endif

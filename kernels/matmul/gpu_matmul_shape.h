/*
 * The shape of a product C = A B, and where its entries are: A is m x k, B k x n, C m x n.
 *
 * All matrices are column-major, as in BLAS. A layout is two letters, for A and B. `n`: the matrix
 * is stored as it is multiplied. `t`: its transpose is stored, so that its rows are contiguous.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_SHAPE_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __CUDACC__
#define MATMUL_SIDES __host__ __device__
#else
#define MATMUL_SIDES
#endif

enum matmul_layout { MATMUL_NN, MATMUL_NT, MATMUL_TN, MATMUL_TT, MATMUL_LAYOUTS };

struct matmul_shape {
    size_t m, n, k;
    enum matmul_layout layout;
};

static inline MATMUL_SIDES bool matmul_a_is_transposed(const struct matmul_shape *shape)
{
    return shape->layout == MATMUL_TN || shape->layout == MATMUL_TT;
}

static inline MATMUL_SIDES bool matmul_b_is_transposed(const struct matmul_shape *shape)
{
    return shape->layout == MATMUL_NT || shape->layout == MATMUL_TT;
}

/* Index of A[row][at] among A's m k entries. */
static inline MATMUL_SIDES size_t matmul_a_at(const struct matmul_shape *shape, size_t row,
                                              size_t at)
{
    return matmul_a_is_transposed(shape) ? row * shape->k + at : at * shape->m + row;
}

/* Index of B[at][col] among B's k n entries. */
static inline MATMUL_SIDES size_t matmul_b_at(const struct matmul_shape *shape, size_t at,
                                              size_t col)
{
    return matmul_b_is_transposed(shape) ? at * shape->n + col : col * shape->k + at;
}

/* Index of C[row][col] among C's m n entries. */
static inline MATMUL_SIDES size_t matmul_c_at(const struct matmul_shape *shape, size_t row,
                                              size_t col)
{
    return col * shape->m + row;
}

#undef MATMUL_SIDES

#ifdef __cplusplus
extern "C" {
#endif

/* "nn", "nt", "tn", "tt" */
const char *matmul_layout_name(enum matmul_layout layout);

/* 2 m n k */
double matmul_flops(const struct matmul_shape *shape);

enum { MATMUL_SHAPE_TEXT = 96 };

/* "m 8192, n 8192, k 8192, tn". Returns buf. */
char *matmul_shape_text(const struct matmul_shape *shape, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif

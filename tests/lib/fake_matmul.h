/*
 * A cuBLASLt that multiplies in the host's memory, for CONTEND_CUBLASLT, over the GPUs of
 * fake_gpus.h: by the rules of BLAS, from nothing but what it is told. Of int8 and fp8 it has
 * layout tn alone, as on Hopper.
 */
#ifndef CONTEND_TESTS_LIB_FAKE_MATMUL_H
#define CONTEND_TESTS_LIB_FAKE_MATMUL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum fake_matmul_wrong {
    FAKE_MATMUL_RIGHT,
    FAKE_MATMUL_OTHER_A,   /* A is taken for its transpose */
    FAKE_MATMUL_OTHER_B,   /* so is B */
    FAKE_MATMUL_OTHER_C,   /* C^T is written in the place of C */
    FAKE_MATMUL_SHORT,     /* sums lack their last product */
    FAKE_MATMUL_ONE_OFF,   /* the last entry is wrong, by 1 or a few roots of k */
    FAKE_MATMUL_UNWRITTEN, /* it is not written */
    FAKE_MATMUL_WRONGS
};

struct fake_matrix {
    size_t rows, columns, leading;
    int type; /* CUDA's number */
};

struct fake_matmul {
    enum fake_matmul_wrong wrong; /* what the next products are */
    /* What the last one was told. */
    struct fake_matrix a, b, c;
    bool a_transposed, b_transposed;
    int compute, scale; /* cuBLAS's and CUDA's numbers */
    unsigned products;
    int open; /* handles, descriptions, .. that were made and not destroyed */
};

extern struct fake_matmul fake_matmul;

#ifdef __cplusplus
}
#endif

#endif

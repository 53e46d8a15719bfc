/*
 * A cuBLASLt for CONTEND_CUBLASLT that multiplies in the host's memory, over the GPUs of
 * fake_gpus.h. It follows the rules of BLAS and uses only what its calls tell it. int8 and fp8 have
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
    FAKE_MATMUL_OTHER_A,   /* A is read as its transpose */
    FAKE_MATMUL_OTHER_B,   /* B is read as its transpose */
    FAKE_MATMUL_OTHER_C,   /* C^T is written in place of C */
    FAKE_MATMUL_SHORT,     /* sums lack their last product */
    FAKE_MATMUL_ONE_OFF,   /* the last entry is off by 1, or by a few times sqrt(k) */
    FAKE_MATMUL_UNWRITTEN, /* the last entry is not written */
    FAKE_MATMUL_WRONGS
};

struct fake_matrix {
    size_t rows, columns, leading;
    int type; /* CUDA's number of the type */
};

struct fake_matmul {
    enum fake_matmul_wrong wrong; /* how the next products are wrong */
    /* What the last product was given. */
    struct fake_matrix a, b, c;
    bool a_transposed, b_transposed;
    int compute, scale; /* numbers of cuBLAS and CUDA */
    unsigned products;
    int open; /* handles, descriptions and the like that were made and not destroyed */
};

extern struct fake_matmul fake_matmul;

#ifdef __cplusplus
}
#endif

#endif

/*
 * The reference for gpu_matmul.h, entry by entry in double precision, and how far off a GPU may be.
 *
 * C = A B: the entry of A at index i in memory is entry i of matrix 0, that of B entry i of matrix
 * 1 (gpu_matmul_data.h), each rounded to the type; gpu_matmul_shape.h says where entries are.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_REF_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_REF_H

#include <stddef.h>

#include "harness/lib/err.h"
#include "kernels/matmul/gpu_matmul_shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * fp8 is e4m3 and writes bf16. int8 adds and writes int32. All others write the type that they
 * read. tf32 is stored as float.
 */
enum matmul_type {
    MATMUL_FP64,
    MATMUL_FP32,
    MATMUL_TF32,
    MATMUL_BF16,
    MATMUL_FP16,
    MATMUL_FP8,
    MATMUL_INT8,
    MATMUL_TYPES
};

/* "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8" */
const char *matmul_type_name(enum matmul_type type);

/*
 * Tests whether units for the type support the shape: their loads of several entries must be
 * aligned in every column. -ENOTSUP with the reason in err.
 */
int matmul_takes(enum matmul_type type, const struct matmul_shape *shape, struct err *err);

/* Bytes of an entry of A and B, and of C. */
size_t matmul_in_bytes(enum matmul_type type);
size_t matmul_out_bytes(enum matmul_type type);

/*
 * How far an entry of the GPU's C may be from `want`: the rounding of the output, twice, and the
 * errors of k additions. Sums of t products grow as sqrt(t) here. int8: 0, its sums are exact.
 *
 * fp64 and fp32 round each sum to nearest: errors of either sign, eps sqrt(t) each, together about
 * eps k / sqrt(6); 8 times that is allowed. Matrix units of the other types truncate: errors of one
 * sign, so (k / step) eps times the largest sum, taken as 4 sqrt(k), where a unit adds `step`
 * products at once. eps = 2^-23 and step = 4, the least of any unit; for fp8, which Hopper adds
 * with 14 bits, 2^-13 and 32. Source: M. Fasi et al., "Numerical behavior of NVIDIA tensor cores",
 * PeerJ CS 7 (2021); DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024), 3.3.2; Higham, "Accuracy
 * and Stability of Numerical Algorithms", 4.2.
 */
double matmul_ref_limit(enum matmul_type type, size_t k, double want);

#ifdef __cplusplus
}
#endif

#endif

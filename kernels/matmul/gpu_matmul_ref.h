/*
 * What gpu_matmul.h computes, entry by entry in double precision, and how far off a GPU may be.
 *
 *   C = A B, n x n, in columns: A[i][k] is entry i n + k of matrix 0, B[k][j] entry j n + k of
 *   matrix 1 (gpu_matmul_data.h), each rounded to the type; C[i][j] lies at j n + i.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_REF_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_REF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* fp8 is e4m3 and writes bf16; all others write what they read. tf32 is stored as float. */
enum matmul_type {
    MATMUL_FP64,
    MATMUL_FP32,
    MATMUL_TF32,
    MATMUL_BF16,
    MATMUL_FP16,
    MATMUL_FP8,
    MATMUL_TYPES
};

/* "fp64", "fp32", "tf32", "bf16", "fp16", "fp8" */
const char *matmul_type_name(enum matmul_type type);

/* 2 n^3 */
double matmul_flops(size_t n);

/* The value of the type nearest to `value`, ties to even. fp8: at most 448. */
double matmul_round(enum matmul_type type, double value);

/* C[row][col], summed in double. */
double matmul_ref_entry(enum matmul_type type, uint64_t seed, size_t n, size_t row, size_t col);

/*
 * How far an entry of the GPU's C may lie from `want`: the rounding of the output, twice, and the
 * errors of n additions. Sums of t products grow as sqrt(t) here.
 *
 * fp64, fp32 round each sum to nearest: errors of either sign, eps sqrt(t) each, together about
 * eps n / sqrt(6), of which 8 times is allowed. Matrix units of the other types truncate: errors of
 * one sign, so (n / step) eps times the largest sum, taken as 4 sqrt(n), where a unit adds `step`
 * products at once. eps = 2^-23 and step = 4, the least of any unit; fp8, which Hopper adds with 14
 * bits, 2^-13 and 32.
 * Source: M. Fasi et al., "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7 (2021);
 * DeepSeek-AI, "DeepSeek-V3 Technical Report" (2024), 3.3.2; Higham, "Accuracy and Stability of
 * Numerical Algorithms", 4.2.
 */
double matmul_ref_limit(enum matmul_type type, size_t n, double want);

#ifdef __cplusplus
}
#endif

#endif

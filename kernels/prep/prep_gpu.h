/*
 * The preprocessing of prep.h on a GPU: the same stages, formulas and arrays, checked by prep_ref.h
 * with the same limits. This header has no CUDA types; prep_gpu.cuh queues the kernels.
 */
#ifndef CONTEND_KERNELS_PREP_PREP_GPU_H
#define CONTEND_KERNELS_PREP_PREP_GPU_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct prep_params;

/* The fields of struct prep_params that a kernel needs, and values derived from them. */
struct prep_gpu_params {
    size_t rows, cols, block, blocks;
    size_t window, hop, windows, cov_cols;
    float pos, inv_pos, neg, inv_neg; /* struct prep_power */
    float alpha;
};

struct prep_gpu_params prep_gpu_params_of(const struct prep_params *params);

/* As struct prep_out, in the GPU's memory or, for a check, copied from there. */
struct prep_gpu_arrays {
    float *mean, *scale, *transformed, *features, *covariance, *smoothed;
};

enum { PREP_GPU_ARRAYS = 6 };

/* Bytes of each array, in their order. */
void prep_gpu_sizes(const struct prep_gpu_params *params, size_t bytes[PREP_GPU_ARRAYS]);

/*
 * The cost of a batch, to compare with a GPU's peak: floating-point operations (a transformed value
 * counts as 40, about what expm1f and log1pf need), and bytes to and from memory if each kernel
 * reads its input once (moments twice) and writes its output once.
 */
double prep_gpu_flops(const struct prep_gpu_params *params);
double prep_gpu_bytes(const struct prep_gpu_params *params);

#ifdef __cplusplus
}
#endif

#endif

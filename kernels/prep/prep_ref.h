/*
 * The stages of prep.h in double precision, written to be read, and a comparison of prep_run's
 * output with them. Not for timed code.
 *
 * Each stage is compared on the float inputs that it got: the batch, or the output of the stage
 * before. So a limit is the rounding error of that stage, without the conditioning of the chain.
 * With eps = 2^-24, n the rows of a block, w the window, v the summed values and |d| their largest
 * distance from the first value, the limits are
 *
 *   mean        eps (2 |mean| + (n + 4) |d|)
 *   scale       eps (n + 8 + 8 s |d|) s
 *   transformed eps (8 + 8 |p log(1 + |z|)|) max(|t|, |z dt/dz|), p the exponent on z's side
 *   features    eps (2 |mean| + (w + 4) |d|); eps (w + 8) (m2 + |d| sqrt(m2));
 *               eps (w + 8) (1 + (|d| / sqrt(m2))^3)
 *   covariance  eps (n + 8) 1/n sum |(t_ri - a_i) t_rj| + eps |t|^2 n, |t| the largest value
 *   smoothed    4 eps max |t| / alpha
 *
 * They are worst cases of summation (n terms err by at most n eps of their absolute sum: Higham,
 * Accuracy and Stability of Numerical Algorithms, 4.2), with a small factor for the other
 * operations.
 */
#ifndef CONTEND_KERNELS_PREP_PREP_REF_H
#define CONTEND_KERNELS_PREP_PREP_REF_H

#include <stddef.h>

#include "kernels/prep/prep.h"

/* Central moments of n values, `stride` apart, population form; m3 is not normalised. */
struct prep_ref_moments {
    double mean, m2, m3;
    double spread; /* largest |value - first value| */
};

struct prep_ref_moments prep_ref_moments(const float *values, size_t n, size_t stride);

/* m3 / m2^(3/2), or 0 where m2 is below FLT_MIN. */
double prep_ref_skewness(const struct prep_ref_moments *moments);

double prep_ref_yeo_johnson(double z, double lambda);

/* 1/n sum (a - mean a)(b - mean b) over n values, `stride` apart. */
double prep_ref_covariance(const float *a, const float *b, size_t n, size_t stride);

/* How far YJ(z), computed in float from a float z, may be from the value in double. */
double prep_ref_yeo_johnson_limit(double z, double lambda);

/* The first value outside its limit. */
struct prep_diff {
    const char *stage; /* "mean", "scale", "transformed", "features", "covariance", "smoothed" */
    size_t row, col;   /* in that output's array, whole batch; col of features: 3 window + value */
    double got, want, limit;
};

/* The rows to check (columns for moments, entries for the covariance): first, first + step, ... */
struct prep_ref_sample {
    size_t first, step; /* 0 and 1: all */
};

/*
 * Compares what prep_run wrote for block `index` with the reference, for the given sample; `in` is
 * the whole batch. Returns 0, or -EBADMSG with *diff filled (NaN is always outside).
 */
int prep_ref_check_block(const struct prep_params *params, const float *in,
                         const struct prep_out *out, size_t index,
                         const struct prep_ref_sample *sample, struct prep_diff *diff);

#endif

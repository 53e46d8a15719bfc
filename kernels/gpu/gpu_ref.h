/*
 * The computation of gpu_step.h in double precision on the CPU, and the weights that both use.
 *
 *   y_0 = x,   y_k+1 = f(y_k W),   f(v) = v / (1 + |v|),   result y_work
 *
 * with x rows x cols and W cols x cols, row-major. W is a fixed pattern of uniform values with
 * mean 0 and variance 1/cols, so that a product keeps the size of its rows.
 */
#ifndef CONTEND_KERNELS_GPU_GPU_REF_H
#define CONTEND_KERNELS_GPU_GPU_REF_H

#include <stddef.h>

/* Fills W, cols * cols values. */
void gpu_ref_weights(size_t cols, float *weights);

/* One row of y_work from a row of x. Uses and returns `a` or `b`, each of cols doubles. */
const double *gpu_ref_row(const float *x, const float *weights, size_t cols, unsigned work,
                          double *a, double *b);

/*
 * The largest absolute difference allowed between a row of the float result and the double one. The
 * error of a dot product of `cols` terms is at most cols eps sum |y W| <= sqrt(3 cols) cols eps max
 * |y| (Higham, 4.2). Errors of random sign grow as the root of it, and 8 times that root is
 * allowed: 8 sqrt(3) sqrt(cols) eps max(1, max |x|) per pass, eps = 2^-24. f does not enlarge the
 * error.
 */
double gpu_ref_limit(const float *x, size_t cols, unsigned work);

#endif

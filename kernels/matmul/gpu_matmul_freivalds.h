/*
 * Checks a whole product C = A B without computing it again: compares C R with A (B R) for a matrix
 * R of random signs. This header has no CUDA; gpu_matmul_data.cuh computes the sums on the GPU.
 *
 * Each of VECTORS vectors of signs is cut into groups of GROUP columns of C, so that a residual
 *
 *   D[i][g] = sum over j in g of r[j] C[i][j]  -  sum over k of A[i][k] (B r_g)[k]
 *
 * contains the rounding errors of GROUP entries, not of a whole row. All sums are in double. One
 * entry that is wrong by e changes VECTORS residuals by e, so it is found if e exceeds the limit
 * and those roundings. Errors of several entries in one row and group cancel in one vector for at
 * most half of all signs, so they cancel in all vectors with a probability of at most 2^-VECTORS.
 * An entry that was never written is NaN, and for int8 a value that no product has, so it is always
 * found. With int8 nothing is rounded, not even in this check: sums of 64 x 65,536 products are
 * whole numbers below 2^53. So every residual of a correct product is 0.
 *
 * Source: R. Freivalds, "Probabilistic machines can use less running time", IFIP Congress 1977.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_FREIVALDS_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_FREIVALDS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/mix64.h"
#include "kernels/matmul/gpu_matmul_ref.h"

#ifdef __CUDACC__
#define MATMUL_SIDES __host__ __device__
#else
#define MATMUL_SIDES
#endif

enum { FREIVALDS_GROUP = 64, FREIVALDS_VECTORS = 4 };

/* 1 or -1: the sign of a vector at column j of C. */
static inline MATMUL_SIDES double freivalds_sign(uint64_t seed, unsigned vector, uint64_t j)
{
    /* ~: different random numbers from those of the entries (gpu_matmul_data.h). */
    return mix64(~seed ^ mix64(j * FREIVALDS_VECTORS + vector)) >> 63 ? 1.0 : -1.0;
}

#undef MATMUL_SIDES

#ifdef __cplusplus
extern "C" {
#endif

/* Summary of all residuals of a product. Zeroed = none. */
struct freivalds {
    double squares;           /* sum of their squares */
    double worst;             /* the largest magnitude; infinite if a residual is NaN */
    size_t count, row, group; /* row, group: of the worst, in any vector */
};

static inline size_t freivalds_groups(size_t n)
{
    return (n + FREIVALDS_GROUP - 1) / FREIVALDS_GROUP;
}

/* Adds `count` residuals: the sum of their squares, and the largest magnitude with its place. */
void freivalds_add(struct freivalds *sums, double squares, double worst, size_t count, size_t row,
                   size_t group);

/*
 * The largest residual that the type's rounding allows: 8 times the root of GROUP, times
 * matmul_ref_limit of a usual entry, sqrt(k), for the type and for the check's own sums in double.
 * int8: 0. Signs are random and independent of the rounding, so by Hoeffding's inequality a
 * residual of a correct product exceeds the limit with a probability of 2 exp(-32) = 3e-14.
 */
double freivalds_limit(enum matmul_type type, const struct matmul_shape *shape);

/*
 * Returns 0, or -EBADMSG with the worst place in err: a residual exceeds the limit, or 10 times the
 * root mean square of all residuals. The limit covers the worst that hardware may round, so it is
 * wide for narrow types. The second test finds an entry or tile that is worse than all others.
 * Residuals sum GROUP roundings of either sign and are near normal, so correct ones stay within 10
 * deviations if k is 64 or more. In shorter sums a row of large entries rounds more than other
 * rows. Then only the limit counts, which is close because few terms are added.
 */
int freivalds_judge(const struct freivalds *sums, enum matmul_type type,
                    const struct matmul_shape *shape, struct err *err);

#ifdef __cplusplus
}
#endif

#endif

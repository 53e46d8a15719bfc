/*
 * Whether a whole product C = A B is right, without computing it again: C R against A (B R) for a
 * matrix R of random signs. Everything that has no CUDA in it; the sums themselves are taken by
 * gpu_matmul_check.cuh on the GPU.
 *
 * Each of VECTORS vectors of signs is cut into groups of GROUP columns of C, so that a residual
 *
 *   D[i][g] = sum over j in g of r[j] C[i][j]  -  sum over k of A[i][k] (B r_g)[k]
 *
 * has the rounding errors of GROUP entries in it and not those of a whole row. All is summed in
 * double. A single entry that is wrong by e moves VECTORS residuals by e, so it is found where e is
 * above the limit and those roundings. Errors of several entries of one row and group cancel in one
 * vector for at most half of all signs: in all of them with a probability of 2^-VECTORS at most.
 * An entry that was never written is NaN, and always found; of int8, what no product can be.
 * With int8 nothing is rounded, here neither: sums of 64 x 65,536 products are whole numbers below
 * 2^53. Every residual of a good product is 0 then, and any other is an error.
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

/* 1 or -1: what a vector has at column j of C. */
static inline MATMUL_SIDES double freivalds_sign(uint64_t seed, unsigned vector, uint64_t j)
{
    /* ~: other draws than those that the entries are made of (gpu_matmul_data.h). */
    return mix64(~seed ^ mix64(j * FREIVALDS_VECTORS + vector)) >> 63 ? 1.0 : -1.0;
}

#undef MATMUL_SIDES

#ifdef __cplusplus
extern "C" {
#endif

/* All residuals of a product. A zeroed struct has none. */
struct freivalds {
    double squares;           /* sum of their squares */
    double worst;             /* the largest magnitude; infinite where one is NaN */
    size_t count, row, group; /* where the worst is; group is of any vector */
};

static inline size_t freivalds_groups(size_t n)
{
    return (n + FREIVALDS_GROUP - 1) / FREIVALDS_GROUP;
}

/* One more residual, of magnitude `size`; the worst and the squares of several at once. */
void freivalds_add(struct freivalds *sums, double squares, double worst, size_t count, size_t row,
                   size_t group);

/*
 * How large a residual may be, for what the type may round: 8 times the root of GROUP times
 * matmul_ref_limit of a usual entry, sqrt(k), and of the check's own in double. int8: 0. Signs are
 * random and independent of what was rounded: by Hoeffding's inequality a residual of a good
 * product is beyond that with a probability of 2 exp(-32) = 3e-14.
 */
double freivalds_limit(enum matmul_type type, const struct matmul_shape *shape);

/*
 * 0, or -EBADMSG with the worst place in msg: a residual is above the limit, or above 10 times the
 * root of all residuals' mean square. The limit covers the worst that hardware may round and is
 * wide for narrow types; the second finds one entry or tile that is worse than all others.
 * Residuals are sums of GROUP roundings of either sign, near normal: 10 deviations are none of
 * theirs, where k is 64 or more. In shorter sums a row of large entries rounds more than others
 * do; the limit alone counts, which is close where little is added.
 */
int freivalds_judge(const struct freivalds *sums, enum matmul_type type,
                    const struct matmul_shape *shape, char *msg, size_t size);

#ifdef __cplusplus
}
#endif

#endif

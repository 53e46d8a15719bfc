/* Matrix products in the host's memory with the fill and the check that gpu_matmul.h has on a
 * GPU. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_PRODUCT_H
#define CONTEND_TESTS_LIB_FIXTURE_PRODUCT_H

#include "kernels/matmul/gpu_matmul_freivalds.h"
#include "tests/lib/fixture_storage.h"

#ifdef __cplusplus
extern "C" {
#endif

/* n x n x n in the default layout of gpu_matmul: A is transposed. */
static inline struct matmul_shape matmul_square(size_t n)
{
    struct matmul_shape shape = {n, n, n, MATMUL_TN};
    return shape;
}

/* The value of the type nearest to `value`, ties to even. fp8 saturates at 448, int8 at 127. */
double matmul_round(enum matmul_type type, double value);
/* The value that the type stores for a value of gpu_matmul_data.h. */
double matmul_stored(enum matmul_type type, double value);
/* C[row][col], summed in double, which is exact for int8. */
double matmul_ref_entry(enum matmul_type type, uint64_t seed, const struct matmul_shape *shape,
                        size_t row, size_t col);

struct product {
    enum matmul_type type;
    struct matmul_shape shape;
    uint64_t seed;
    enum matmul_storage in, out; /* of A and B, and of C: the type's storage, or MATMUL_AS_DOUBLE */
    void *a, *b, *c;
};

/* Fills A and B; C stays as it is. */
void product_fill(const struct product *p);

/* The residuals of C, computed as in gpu_matmul_data.cu. */
struct freivalds product_sums(const struct product *p);

#ifdef __cplusplus
}
#endif

#endif

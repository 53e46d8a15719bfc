/* Matrix products in the host's memory as gpu_matmul.h has them on a GPU: their fill and check. */
#ifndef CONTEND_TESTS_LIB_FIXTURE_PRODUCT_H
#define CONTEND_TESTS_LIB_FIXTURE_PRODUCT_H

#include "kernels/matmul/gpu_matmul_freivalds.h"
#include "kernels/matmul/gpu_matmul_storage.h"

#ifdef __cplusplus
extern "C" {
#endif

struct product {
    enum matmul_type type;
    struct matmul_shape shape;
    uint64_t seed;
    enum matmul_storage in, out; /* of A and B, and of C: the type's, or MATMUL_AS_DOUBLE */
    void *a, *b, *c;
};

/* A and B; C stays as it is. */
void product_fill(const struct product *p);

/* The residuals of C, as gpu_matmul_data.cu takes them. */
struct freivalds product_sums(const struct product *p);

#ifdef __cplusplus
}
#endif

#endif

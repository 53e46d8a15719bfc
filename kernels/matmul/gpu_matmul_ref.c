#include "kernels/matmul/gpu_matmul_ref.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

static const struct format {
    const char *name;
    size_t in_bytes, out_bytes; /* of an entry */
    int out_bits;               /* significant bits */
    bool truncates;
    int sum_bits; /* eps = 2^-sum_bits */
    double step;
    unsigned multiple; /* m, k and the length of B's columns in memory must be multiples */
} formats[MATMUL_TYPES] = {
    [MATMUL_FP64] = {"fp64", 8, 8, 53, false, 53, 1, 1},
    [MATMUL_FP32] = {"fp32", 4, 4, 24, false, 24, 1, 1},
    [MATMUL_TF32] = {"tf32", 4, 4, 24, true, 23, 4, 1},
    [MATMUL_BF16] = {"bf16", 2, 2, 8, true, 23, 4, 1},
    [MATMUL_FP16] = {"fp16", 2, 2, 11, true, 23, 4, 1},
    [MATMUL_FP8] = {"fp8", 1, 2, 8, true, 13, 32, 16},
    [MATMUL_INT8] = {"int8", 1, 4, .multiple = 4},
};

const char *matmul_type_name(enum matmul_type type)
{
    return formats[type].name;
}

/* Source: cuBLAS documentation, cublasLtMatmul: requirements of int8 and fp8 kernels. */
int matmul_takes(enum matmul_type type, const struct matmul_shape *shape, struct err *err)
{
    unsigned multiple = formats[type].multiple;
    bool by_n = matmul_b_is_transposed(shape);
    char text[MATMUL_SHAPE_TEXT];
    if (shape->m % multiple == 0 && shape->k % multiple == 0 && (!by_n || shape->n % multiple == 0))
        return 0;
    return err_set(err, -ENOTSUP, "%s needs %s that are multiples of %u, not %s",
                   formats[type].name, by_n ? "m, n and k" : "m and k", multiple,
                   matmul_shape_text(shape, text, sizeof(text)));
}

size_t matmul_in_bytes(enum matmul_type type)
{
    return formats[type].in_bytes;
}

size_t matmul_out_bytes(enum matmul_type type)
{
    return formats[type].out_bytes;
}

double matmul_ref_limit(enum matmul_type type, size_t k, double want)
{
    const struct format *format = &formats[type];
    double eps = ldexp(1, -format->sum_bits), terms = (double)k;
    if (type == MATMUL_INT8)
        return 0;
    double sums = format->truncates ? ceil(terms / format->step) * eps * 4 * sqrt(terms)
                                    : 8 * eps * terms / sqrt(6);
    /* An entry has at least the error of one product's last bit, also if k is 1. */
    return sums + 2 * ldexp(fabs(want), -format->out_bits) + eps;
}

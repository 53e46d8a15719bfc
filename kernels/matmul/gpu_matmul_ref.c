#include "kernels/matmul/gpu_matmul_ref.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "kernels/matmul/gpu_matmul_data.h"

static const struct format {
    const char *name;
    int bits, least_exponent; /* of the input: significant bits, exponent of the least normal */
    int out_bits;
    bool truncates;
    int sum_bits; /* eps = 2^-sum_bits */
    double step;
    unsigned multiple; /* of which m, k and the length of B's columns in memory must be */
} formats[MATMUL_TYPES] = {
    [MATMUL_FP64] = {"fp64", 53, -1022, 53, false, 53, 1, 1},
    [MATMUL_FP32] = {"fp32", 24, -126, 24, false, 24, 1, 1},
    [MATMUL_TF32] = {"tf32", 11, -126, 24, true, 23, 4, 1},
    [MATMUL_BF16] = {"bf16", 8, -126, 8, true, 23, 4, 1},
    [MATMUL_FP16] = {"fp16", 11, -14, 11, true, 23, 4, 1},
    [MATMUL_FP8] = {"fp8", 4, -6, 8, true, 13, 32, 16},
    [MATMUL_INT8] = {.name = "int8", .multiple = 4},
};

static const double fp8_most = 448, int8_most = 127;

const char *matmul_type_name(enum matmul_type type)
{
    return formats[type].name;
}

/* Source: cuBLAS documentation, cublasLtMatmul: what kernels for int8 and fp8 require. */
int matmul_takes(enum matmul_type type, const struct matmul_shape *shape, char *msg, size_t size)
{
    unsigned multiple = formats[type].multiple;
    bool by_n = matmul_b_is_transposed(shape);
    char text[MATMUL_SHAPE_TEXT];
    if (shape->m % multiple == 0 && shape->k % multiple == 0 && (!by_n || shape->n % multiple == 0))
        return 0;
    (void)snprintf(msg, size, "%s needs %s that are multiples of %u, not %s", formats[type].name,
                   by_n ? "m, n and k" : "m and k", multiple,
                   matmul_shape_text(shape, text, sizeof(text)));
    return -ENOTSUP;
}

static double clamp(double value, double most)
{
    return fabs(value) > most ? copysign(most, value) : value;
}

double matmul_round(enum matmul_type type, double value)
{
    const struct format *format = &formats[type];
    int exponent;
    if (value == 0 || type == MATMUL_FP64)
        return value;
    if (type == MATMUL_INT8)
        return clamp(nearbyint(value), int8_most);
    (void)frexp(value, &exponent);
    exponent -= 1; /* frexp's fraction is 1/2 .. 1 */
    if (exponent < format->least_exponent)
        exponent = format->least_exponent;
    double unit = ldexp(1, exponent - (format->bits - 1));
    double rounded = nearbyint(value / unit) * unit;
    return type == MATMUL_FP8 ? clamp(rounded, fp8_most) : rounded;
}

/* The GPU makes the narrow types from float. */
double matmul_stored(enum matmul_type type, double value)
{
    if (type == MATMUL_INT8)
        return matmul_round(type, value * MATMUL_INT8_SCALE);
    return type == MATMUL_FP64 ? value : matmul_round(type, (double)(float)value);
}

double matmul_ref_entry(enum matmul_type type, uint64_t seed, const struct matmul_shape *shape,
                        size_t row, size_t col)
{
    double sum = 0;
    for (size_t at = 0; at < shape->k; at++)
        sum += matmul_stored(type, matmul_value(seed, 0, matmul_a_at(shape, row, at))) *
               matmul_stored(type, matmul_value(seed, 1, matmul_b_at(shape, at, col)));
    return sum;
}

double matmul_ref_limit(enum matmul_type type, size_t k, double want)
{
    const struct format *format = &formats[type];
    double eps = ldexp(1, -format->sum_bits), terms = (double)k;
    if (type == MATMUL_INT8)
        return 0;
    double sums = format->truncates ? ceil(terms / format->step) * eps * 4 * sqrt(terms)
                                    : 8 * eps * terms / sqrt(6);
    /* An entry has at least the error of one product's last bit, also where k is 1. */
    return sums + 2 * ldexp(fabs(want), -format->out_bits) + eps;
}

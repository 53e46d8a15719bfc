#include "kernels/matmul/gpu_matmul_ref.h"

#include <math.h>
#include <stdbool.h>

#include "kernels/matmul/gpu_matmul_data.h"

static const struct format {
    const char *name;
    int bits, least_exponent; /* of the input: significant bits, exponent of the least normal */
    int out_bits;
    bool truncates;
    int sum_bits; /* eps = 2^-sum_bits */
    double step;
} formats[MATMUL_TYPES] = {
    [MATMUL_FP64] = {"fp64", 53, -1022, 53, false, 53, 1},
    [MATMUL_FP32] = {"fp32", 24, -126, 24, false, 24, 1},
    [MATMUL_TF32] = {"tf32", 11, -126, 24, true, 23, 4},
    [MATMUL_BF16] = {"bf16", 8, -126, 8, true, 23, 4},
    [MATMUL_FP16] = {"fp16", 11, -14, 11, true, 23, 4},
    [MATMUL_FP8] = {"fp8", 4, -6, 8, true, 13, 32},
};

static const double fp8_most = 448;

const char *matmul_type_name(enum matmul_type type)
{
    return formats[type].name;
}

double matmul_flops(size_t n)
{
    return 2.0 * (double)n * (double)n * (double)n;
}

double matmul_round(enum matmul_type type, double value)
{
    const struct format *format = &formats[type];
    int exponent;
    if (value == 0 || type == MATMUL_FP64)
        return value;
    (void)frexp(value, &exponent);
    exponent -= 1; /* frexp's fraction is 1/2 .. 1 */
    if (exponent < format->least_exponent)
        exponent = format->least_exponent;
    double unit = ldexp(1, exponent - (format->bits - 1));
    double rounded = nearbyint(value / unit) * unit;
    if (type == MATMUL_FP8 && fabs(rounded) > fp8_most)
        return copysign(fp8_most, rounded);
    return rounded;
}

/* The GPU makes the narrow types from float. */
static double stored(enum matmul_type type, double value)
{
    return type == MATMUL_FP64 ? value : matmul_round(type, (double)(float)value);
}

double matmul_ref_entry(enum matmul_type type, uint64_t seed, size_t n, size_t row, size_t col)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += stored(type, matmul_value(seed, 0, row * n + k)) *
               stored(type, matmul_value(seed, 1, col * n + k));
    return sum;
}

double matmul_ref_limit(enum matmul_type type, size_t n, double want)
{
    const struct format *format = &formats[type];
    double eps = ldexp(1, -format->sum_bits), terms = (double)n;
    double sums = format->truncates ? ceil(terms / format->step) * eps * 4 * sqrt(terms)
                                    : 8 * eps * terms / sqrt(6);
    /* An entry has at least the error of one product's last bit, also where n is 1. */
    return sums + 2 * ldexp(fabs(want), -format->out_bits) + eps;
}

/*
 * The inner loops of prep.h, for one thread's share. They are compiled once per instruction set
 * from one source (prep_isa.inc) and picked at run time, so the program runs on any x86-64 or
 * aarch64. Other machines have only the baseline.
 *
 * All matrices are row-major; `stride` is the distance between rows in elements.
 */
#ifndef CONTEND_KERNELS_PREP_PREP_ISA_H
#define CONTEND_KERNELS_PREP_PREP_ISA_H

#include <stdbool.h>
#include <stddef.h>

/* Yeo-Johnson's exponents and their inverses: lambda for z >= 0, 2 - lambda for z < 0. */
struct prep_power {
    float pos, inv_pos, neg, inv_neg;
};

/*
 * An exponent of 0 is replaced by 2^-60. Then expm1(p log u) / p is log u to the last bit of a
 * float, so the limits at lambda 0 and 2 need no separate case in the loop.
 */
struct prep_power prep_power_of(float lambda);

/* The windows of a row; see prep.h. */
struct prep_windowing {
    size_t window, hop, count;
};

struct prep_isa {
    const char *name; /* "baseline", "avx2", "avx512", "sve"; NULL ends the table */
    bool (*supported)(void);
    /* mean[c] and scale[c] of x (rows x cols). */
    void (*moments)(const float *x, size_t rows, size_t cols, size_t stride, float *mean,
                    float *scale);
    /* One row: t[c] = YJ((x[c] - mean[c]) scale[c]). */
    void (*transform)(const float *x, const float *mean, const float *scale, size_t cols,
                      const struct prep_power *power, float *t);
    /* One row: features[k][PREP_WINDOW_FEATURES]. */
    void (*features)(const float *t, const struct prep_windowing *windows, float *features);
    /* Rows begin..end-1 of the cols x cols covariance of t (rows x cols, stride). */
    void (*covariance)(const float *t, size_t rows, size_t cols, size_t stride, size_t begin,
                       size_t end, float *covariance);
    /* One row: y[c] = alpha t[c] + (1 - alpha) y[c - 1]. */
    void (*smooth)(const float *t, size_t cols, float alpha, float *y);
};

/* Ascending, baseline first. Call `supported` before use. */
extern const struct prep_isa prep_isas[];

/* The last supported entry. */
const struct prep_isa *prep_isa_best(void);

#endif

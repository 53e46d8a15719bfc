#include "kernels/gpu/gpu_ref.h"

#include <math.h>

#include "kernels/cpu/mix64.h"

void gpu_ref_weights(size_t cols, float *weights)
{
    double half_width = sqrt(3.0 / (double)cols); /* uniform in +-h has the variance h^2 / 3 */
    for (size_t i = 0; i < cols * cols; i++)
        weights[i] = (float)(half_width * ((double)(mix64(i) >> 11) * 0x1p-52 - 1.0));
}

const double *gpu_ref_row(const float *x, const float *weights, size_t cols, unsigned work,
                          double *a, double *b)
{
    for (size_t i = 0; i < cols; i++)
        a[i] = x[i];
    for (unsigned pass = 0; pass < work; pass++) {
        for (size_t j = 0; j < cols; j++)
            b[j] = 0;
        for (size_t i = 0; i < cols; i++)
            for (size_t j = 0; j < cols; j++)
                b[j] += a[i] * weights[i * cols + j];
        for (size_t j = 0; j < cols; j++)
            b[j] /= 1 + fabs(b[j]);
        double *swap = a;
        a = b;
        b = swap;
    }
    return a;
}

double gpu_ref_limit(const float *x, size_t cols, unsigned work)
{
    double largest = 1;
    for (size_t i = 0; i < cols; i++)
        largest = fmax(largest, fabs((double)x[i]));
    return 8 * sqrt(3.0 * (double)cols) * 0x1p-24 * largest * work;
}

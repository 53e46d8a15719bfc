#include "kernels/matmul/gpu_matmul_freivalds.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

static const double deviations = 10;

void freivalds_add(struct freivalds *sums, double squares, double worst, size_t count, size_t row,
                   size_t group)
{
    sums->squares += squares;
    sums->count += count;
    if (worst <= sums->worst)
        return;
    sums->worst = worst;
    sums->row = row;
    sums->group = group;
}

double freivalds_limit(enum matmul_type type, size_t n)
{
    double usual = sqrt((double)n), group = fmin(FREIVALDS_GROUP, (double)n);
    return 8 * sqrt(group) *
           (matmul_ref_limit(type, n, usual) + matmul_ref_limit(MATMUL_FP64, n, usual));
}

int freivalds_judge(const struct freivalds *sums, enum matmul_type type, size_t n, char *msg,
                    size_t size)
{
    double limit = freivalds_limit(type, n);
    double usual = sums->count ? sqrt(sums->squares / (double)sums->count) : 0;
    if (sums->worst <= limit && sums->worst <= deviations * usual)
        return 0;
    (void)snprintf(
        msg, size,
        "%s, n %zu: row %zu of C, columns %zu to %zu, is wrong: a residual of %.3g, where "
        "%.3g is allowed and %.2g usual",
        matmul_type_name(type), n, sums->row, sums->group * FREIVALDS_GROUP,
        (size_t)fmin((double)n, (double)(sums->group + 1) * FREIVALDS_GROUP) - 1, sums->worst,
        fmin(limit, deviations * usual), usual);
    return -EBADMSG;
}

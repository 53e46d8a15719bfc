#include "kernels/matmul/gpu_matmul_freivalds.h"

#include <errno.h>
#include <math.h>

static const double deviations = 10;
static const size_t least_k = 64; /* least k for the test by deviations */

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

double freivalds_limit(enum matmul_type type, const struct matmul_shape *shape)
{
    double usual = sqrt((double)shape->k), group = fmin(FREIVALDS_GROUP, (double)shape->n);
    if (type == MATMUL_INT8)
        return 0;
    return 8 * sqrt(group) *
           (matmul_ref_limit(type, shape->k, usual) +
            matmul_ref_limit(MATMUL_FP64, shape->k, usual));
}

int freivalds_judge(const struct freivalds *sums, enum matmul_type type,
                    const struct matmul_shape *shape, struct err *err)
{
    double limit = freivalds_limit(type, shape), allowed = limit;
    double usual = sums->count ? sqrt(sums->squares / (double)sums->count) : 0;
    char text[MATMUL_SHAPE_TEXT];
    if (shape->k >= least_k)
        allowed = fmin(limit, deviations * usual);
    if (sums->worst <= allowed)
        return 0;
    return err_set(
        err, -EBADMSG,
        "%s, %s: row %zu of C, columns %zu to %zu, is wrong: a residual of %.3g, where %.3g is "
        "allowed and %.2g usual",
        matmul_type_name(type), matmul_shape_text(shape, text, sizeof(text)), sums->row,
        sums->group * FREIVALDS_GROUP,
        (size_t)fmin((double)shape->n, (double)(sums->group + 1) * FREIVALDS_GROUP) - 1,
        sums->worst, allowed, usual);
}

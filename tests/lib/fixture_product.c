#include "tests/lib/fixture_product.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/matmul/gpu_matmul_data.h"

/* For each type: significant bits, exponent of the least normal. */
static const struct format {
    int bits, least_exponent;
} formats[MATMUL_TYPES] = {{53, -1022}, {24, -126}, {11, -126}, {8, -126}, {11, -14}, {4, -6}, {0}};
static const double fp8_most = 448, int8_most = 127;

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
    exponent -= 1; /* frexp's fraction is 1/2 to 1 */
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

static void fill(const struct product *p, void *to, size_t count, unsigned matrix)
{
    size_t bytes = matmul_storage_bytes(p->in);
    for (size_t i = 0; i < count; i++)
        matmul_storage_put(p->in, (char *)to + i * bytes,
                           matmul_stored(p->type, matmul_value(p->seed, matrix, i)));
}

void product_fill(const struct product *p)
{
    fill(p, p->a, p->shape.m * p->shape.k, 0);
    fill(p, p->b, p->shape.k * p->shape.n, 1);
}

/* A whole matrix in double. */
static double *load(enum matmul_storage storage, const void *from, size_t count)
{
    size_t bytes = matmul_storage_bytes(storage);
    double *to = calloc(count, sizeof(*to));
    for (size_t i = 0; i < count && to; i++)
        to[i] = matmul_storage_get(storage, (const char *)from + i * bytes);
    return to;
}

struct loaded {
    struct matmul_shape shape;
    uint64_t seed;
    double *a, *b, *c, *v;
};

/* v = B r, for a group. */
static void project(const struct loaded *l, unsigned vector, size_t group)
{
    size_t first = group * FREIVALDS_GROUP, end = first + FREIVALDS_GROUP;
    for (size_t k = 0; k < l->shape.k; k++) {
        l->v[k] = 0;
        for (size_t j = first; j < end && j < l->shape.n; j++)
            l->v[k] += freivalds_sign(l->seed, vector, j) * l->b[matmul_b_at(&l->shape, k, j)];
    }
}

/* C r - A v, for row i. */
static double residual(const struct loaded *l, unsigned vector, size_t group, size_t i)
{
    size_t first = group * FREIVALDS_GROUP, end = first + FREIVALDS_GROUP;
    double sum = 0;
    for (size_t j = first; j < end && j < l->shape.n; j++)
        sum += freivalds_sign(l->seed, vector, j) * l->c[matmul_c_at(&l->shape, i, j)];
    for (size_t k = 0; k < l->shape.k; k++)
        sum -= l->a[matmul_a_at(&l->shape, i, k)] * l->v[k];
    return isnan(sum) ? (double)INFINITY : fabs(sum);
}

struct freivalds product_sums(const struct product *p)
{
    const struct matmul_shape *shape = &p->shape;
    struct freivalds sums = {0};
    struct loaded l = {*shape,
                       p->seed,
                       load(p->in, p->a, shape->m * shape->k),
                       load(p->in, p->b, shape->k * shape->n),
                       load(p->out, p->c, shape->m * shape->n),
                       calloc(shape->k, sizeof(double))};
    if (!l.a || !l.b || !l.c || !l.v)
        abort();
    for (unsigned vector = 0; vector < FREIVALDS_VECTORS; vector++)
        for (size_t group = 0; group < freivalds_groups(shape->n); group++) {
            project(&l, vector, group);
            for (size_t i = 0; i < shape->m; i++) {
                double size = residual(&l, vector, group, i);
                freivalds_add(&sums, size * size, size, 1, i, group);
            }
        }
    free(l.a);
    free(l.b);
    free(l.c);
    free(l.v);
    return sums;
}

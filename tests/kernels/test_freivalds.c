/* The check of whole products, on the CPU: products with the errors of each type, and wrong ones.
 */
#include "kernels/matmul/gpu_matmul_freivalds.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/matmul/gpu_matmul_data.h"

enum { N = 272, SEED = 11, TILE = 128 }; /* a last group of 16 columns; a tile of a GPU's */

struct product {
    enum matmul_type type;
    double *a, *b, *c; /* as the GPU has them: rows, columns, columns */
};

static double round_once(enum matmul_type type, double value)
{
    return type == MATMUL_FP64 ? value : matmul_round(type, (double)(float)value);
}

/* Rounded to the output's bits, behind what additions of that type lose, drawn for each entry. */
static double with_errors(enum matmul_type type, double exact, uint64_t i)
{
    static const int bits[MATMUL_TYPES] = {53, 24, 24, 8, 11, 8};
    double uniform = (double)(mix64(i) >> 11) * 0x1p-53 - 0.5;
    double lost = (matmul_ref_limit(type, N, 0) / 2) * uniform, entry = exact + lost;
    double unit = ldexp(1, (int)floor(log2(fabs(entry))) - bits[type] + 1);
    return nearbyint(entry / unit) * unit;
}

static struct product make(enum matmul_type type)
{
    const size_t count = (size_t)N * N;
    struct product p = {type, calloc(count, sizeof(double)), calloc(count, sizeof(double)),
                        calloc(count, sizeof(double))};
    assert_true(p.a && p.b && p.c);
    for (size_t i = 0; i < count; i++) {
        p.a[i] = round_once(type, matmul_value(SEED, 0, i));
        p.b[i] = round_once(type, matmul_value(SEED, 1, i));
    }
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < N; i++) {
            double sum = 0;
            for (size_t k = 0; k < N; k++)
                sum += p.a[i * N + k] * p.b[j * N + k];
            p.c[j * N + i] = with_errors(type, sum, j * N + i);
        }
    return p;
}

static void drop(struct product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static double signed_sum(const double *columns, size_t i, size_t group, unsigned vector)
{
    double sum = 0;
    for (size_t j = group * FREIVALDS_GROUP; j < (group + 1) * FREIVALDS_GROUP && j < N; j++)
        sum += freivalds_sign(SEED, vector, j) * columns[j * N + i];
    return sum;
}

/* As gpu_matmul_data.cu does. */
static struct freivalds sums_of(const struct product *p)
{
    struct freivalds sums = {0};
    double v[N];
    for (unsigned vector = 0; vector < FREIVALDS_VECTORS; vector++)
        for (size_t group = 0; group < freivalds_groups(N); group++) {
            for (size_t k = 0; k < N; k++)
                v[k] = signed_sum(p->b, k, group, vector);
            for (size_t i = 0; i < N; i++) {
                double residual = signed_sum(p->c, i, group, vector);
                for (size_t k = 0; k < N; k++)
                    residual -= p->a[i * N + k] * v[k];
                double size = isnan(residual) ? (double)INFINITY : fabs(residual);
                freivalds_add(&sums, size * size, size, 1, i, group);
            }
        }
    return sums;
}

static int judge(const struct product *p, char *msg, size_t size)
{
    struct freivalds sums = sums_of(p);
    return freivalds_judge(&sums, p->type, N, msg, size);
}

static void test_freivalds_passes_good_products(void **state)
{
    (void)state;
    for (int type = 0; type < MATMUL_TYPES; type++) {
        char msg[240] = "";
        struct product p = make((enum matmul_type)type);
        struct freivalds sums = sums_of(&p);
        print_message("%s: worst %.3g, usual %.3g, limit %.3g\n", matmul_type_name(p.type),
                      sums.worst, sqrt(sums.squares / (double)sums.count),
                      freivalds_limit(p.type, N));
        if (freivalds_judge(&sums, p.type, N, msg, sizeof(msg)))
            fail_msg("%s", msg);
        assert_int_equal(sums.count, N * freivalds_groups(N) * FREIVALDS_VECTORS);
        drop(&p);
    }
}

/* Anywhere: in the first, in an inner and in the last place, off by two usual entries. */
static void test_freivalds_finds_one_wrong_entry(void **state)
{
    (void)state;
    static const size_t places[][2] = {{0, 0},    {N - 1, N - 1}, {0, N - 1}, {N - 1, 0},
                                       {100, 63}, {101, 64},      {7, 200}};
    for (int type = 0; type < MATMUL_TYPES; type++) {
        struct product p = make((enum matmul_type)type);
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            double *entry = &p.c[places[i][1] * N + places[i][0]], right = *entry;
            char msg[240] = "", place[96];
            (void)snprintf(place, sizeof(place), "row %zu of C, columns %zu to", places[i][0],
                           places[i][1] / FREIVALDS_GROUP * FREIVALDS_GROUP);
            *entry = right + 2 * sqrt(N);
            assert_int_equal(judge(&p, msg, sizeof(msg)), -EBADMSG);
            assert_non_null(strstr(msg, place));
            *entry = NAN;
            assert_int_equal(judge(&p, msg, sizeof(msg)), -EBADMSG);
            assert_non_null(strstr(msg, place));
            *entry = right;
        }
        drop(&p);
    }
}

/* One that holds what is right elsewhere, one of zeros, and one that lacks half of its sums. */
static void test_freivalds_finds_a_wrong_tile(void **state)
{
    (void)state;
    for (int type = 0; type < MATMUL_TYPES; type++)
        for (int kind = 0; kind < 3; kind++) {
            char msg[240] = "";
            struct product p = make((enum matmul_type)type);
            for (size_t j = 0; j < TILE; j++)
                for (size_t i = 0; i < TILE; i++) {
                    double *entry = &p.c[(N - TILE + j) * N + i];
                    *entry = kind == 0 ? p.c[j * N + i] : kind == 1 ? 0 : *entry / 2;
                }
            assert_int_equal(judge(&p, msg, sizeof(msg)), -EBADMSG);
            drop(&p);
        }
}

/* Where all is wrong alike, no residual is worse than the others: the limit finds it. */
static void test_freivalds_finds_a_product_that_is_wrong_as_a_whole(void **state)
{
    (void)state;
    for (int type = 0; type < MATMUL_TYPES; type++) {
        char msg[240] = "";
        struct product p = make((enum matmul_type)type), other = make((enum matmul_type)type);
        for (size_t i = 0; i < (size_t)N * N; i++)
            p.c[i] = other.c[(i * 7919 + 1) % ((size_t)N * N)];
        assert_int_equal(judge(&p, msg, sizeof(msg)), -EBADMSG);
        drop(&other);
        drop(&p);
    }
}

/* Signs are as often 1 as -1, and no two vectors are alike. */
static void test_freivalds_signs_are_fair(void **state)
{
    (void)state;
    enum { COUNT = 1 << 14 };
    for (unsigned a = 0; a < FREIVALDS_VECTORS; a++)
        for (unsigned b = 0; b <= a; b++) {
            double sum = 0;
            for (uint64_t j = 0; j < COUNT; j++)
                sum += freivalds_sign(SEED, a, j) * (a == b ? 1 : freivalds_sign(SEED, b, j));
            assert_true(fabs(sum) < 5 * sqrt(COUNT));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_freivalds_passes_good_products),
        cmocka_unit_test(test_freivalds_finds_one_wrong_entry),
        cmocka_unit_test(test_freivalds_finds_a_wrong_tile),
        cmocka_unit_test(test_freivalds_finds_a_product_that_is_wrong_as_a_whole),
        cmocka_unit_test(test_freivalds_signs_are_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

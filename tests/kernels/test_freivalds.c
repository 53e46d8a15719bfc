/* The check of whole products, on the CPU: products with the errors of each type, and wrong ones.
 */
#include "kernels/matmul/gpu_matmul_freivalds.h"

#include "kernels/matmul/gpu_matmul_data.h"
#include "tests/lib/fixture_product.h"
#include "tests/lib/unit.h"

/* The last group has 15 columns; TILE is that of a GPU. */
enum { M = 129, N = 143, K = 304, SEED = 11, TILE = 128 };

/* The exact entry, plus a random error as large as the type's additions lose, rounded to the
 * output's bits. */
static double with_errors(enum matmul_type type, double exact, uint64_t i)
{
    static const int bits[MATMUL_TYPES] = {53, 24, 24, 8, 11, 8};
    if (type == MATMUL_INT8)
        return exact;
    double uniform = (double)(mix64(i) >> 11) * 0x1p-53 - 0.5;
    double lost = (matmul_ref_limit(type, K, 0) / 2) * uniform, entry = exact + lost;
    double unit = ldexp(1, (int)floor(log2(fabs(entry))) - bits[type] + 1);
    return nearbyint(entry / unit) * unit;
}

/* Stored in double, so that a product can have the errors of any type. */
static struct product make_as(enum matmul_type type, enum matmul_layout layout)
{
    const struct matmul_shape shape = {M, N, K, layout};
    double *c = calloc((size_t)M * N, sizeof(*c));
    struct product p = {.type = type,
                        .shape = shape,
                        .seed = SEED,
                        .in = MATMUL_AS_DOUBLE,
                        .out = MATMUL_AS_DOUBLE,
                        .a = calloc((size_t)M * K, sizeof(double)),
                        .b = calloc((size_t)K * N, sizeof(double)),
                        .c = c};
    assert_true(p.a && p.b && p.c);
    product_fill(&p);
    const double *a = p.a, *b = p.b;
    for (size_t j = 0; j < N; j++)
        for (size_t i = 0; i < M; i++) {
            double sum = 0;
            for (size_t k = 0; k < K; k++)
                sum += a[matmul_a_at(&shape, i, k)] * b[matmul_b_at(&shape, k, j)];
            c[matmul_c_at(&shape, i, j)] = with_errors(type, sum, j * M + i);
        }
    return p;
}

static struct product make(enum matmul_type type)
{
    return make_as(type, MATMUL_TN);
}

static void drop(struct product *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
}

static double *entry_of(const struct product *p, size_t row, size_t col)
{
    return (double *)p->c + matmul_c_at(&p->shape, row, col);
}

static int judge(const struct product *p, struct err *err)
{
    struct freivalds sums = product_sums(p);
    return freivalds_judge(&sums, p->type, &p->shape, err);
}

TEST(freivalds_passes_good_products)
{
    for (int type = 0; type < MATMUL_TYPES; type++) {
        struct err err = {0};
        ENDED_BY(drop) struct product p = make((enum matmul_type)type);
        struct freivalds sums = product_sums(&p);
        print_message("%s: worst %.3g, usual %.3g, limit %.3g\n", matmul_type_name(p.type),
                      sums.worst, sqrt(sums.squares / (double)sums.count),
                      freivalds_limit(p.type, &p.shape));
        if (freivalds_judge(&sums, p.type, &p.shape, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(sums.count, M * freivalds_groups(N) * FREIVALDS_VECTORS);
    }
}

/* A wrong entry at any place, first, inner or last, that is off by twice a usual entry. */
TEST(freivalds_finds_one_wrong_entry)
{
    static const size_t places[][2] = {{0, 0},    {M - 1, N - 1}, {0, N - 1}, {M - 1, 0},
                                       {100, 63}, {101, 64},      {7, 130}};
    for (int type = 0; type < MATMUL_TYPES; type++) {
        ENDED_BY(drop) struct product p = make((enum matmul_type)type);
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            double *entry = entry_of(&p, places[i][0], places[i][1]), right = *entry;
            struct err err = {0};
            char place[96];
            put_text(place, "row %zu of C, columns %zu to", places[i][0],
                     places[i][1] / FREIVALDS_GROUP * FREIVALDS_GROUP);
            *entry = right + 2 * sqrt(K);
            assert_int_equal(judge(&p, &err), -EBADMSG);
            assert_has(err.msg, place);
            *entry = NAN;
            assert_int_equal(judge(&p, &err), -EBADMSG);
            assert_has(err.msg, place);
            *entry = right;
        }
    }
}

/* A tile with values of another place, a tile of zeros, and a tile that lacks half of its sums. */
TEST(freivalds_finds_a_wrong_tile)
{
    for (int type = 0; type < MATMUL_TYPES; type++)
        for (int kind = 0; kind < 3; kind++) {
            struct err err = {0};
            ENDED_BY(drop) struct product p = make((enum matmul_type)type);
            for (size_t j = 0; j < TILE; j++)
                for (size_t i = 0; i < TILE; i++) {
                    double *entry = entry_of(&p, i, N - TILE + j);
                    *entry = kind == 0 ? *entry_of(&p, i, j) : kind == 1 ? 0 : *entry / 2;
                }
            assert_int_equal(judge(&p, &err), -EBADMSG);
        }
}

/* If all entries are equally wrong, no residual stands out; the absolute limit finds it. */
TEST(freivalds_finds_a_product_that_is_wrong_as_a_whole)
{
    for (int type = 0; type < MATMUL_TYPES; type++) {
        struct err err = {0};
        ENDED_BY(drop) struct product p = make((enum matmul_type)type);
        ENDED_BY(drop) struct product other = make((enum matmul_type)type);
        for (size_t i = 0; i < (size_t)M * N; i++)
            ((double *)p.c)[i] = ((const double *)other.c)[(i * 7919 + 1) % ((size_t)M * N)];
        assert_int_equal(judge(&p, &err), -EBADMSG);
    }
}

/* A product is right in its own layout, and wrong in any other. */
TEST(freivalds_tells_layouts_apart)
{
    static const enum matmul_type types[] = {MATMUL_FP64, MATMUL_BF16, MATMUL_INT8};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        for (int layout = 0; layout < MATMUL_LAYOUTS; layout++) {
            ENDED_BY(drop) struct product p = make_as(types[i], (enum matmul_layout)layout);
            for (int as = 0; as < MATMUL_LAYOUTS; as++) {
                struct err err = {0};
                p.shape.layout = (enum matmul_layout)as;
                assert_int_equal(judge(&p, &err), as == layout ? 0 : -EBADMSG);
            }
        }
}

/* Nothing is rounded, so the check finds an error of 1 in 10^5, and entries that were never
 * written. */
TEST(freivalds_is_exact_for_int8)
{
    struct err err = {0};
    struct product p = make(MATMUL_INT8);
    struct freivalds sums = product_sums(&p);
    double *entry = entry_of(&p, 128, 100), right = *entry;
    assert_true(sums.worst == 0);
    *entry = right + 1;
    assert_int_equal(judge(&p, &err), -EBADMSG);
    assert_has(err.msg, "int8, m 129, n 143, k 304, tn: row 128 of C, columns 64 to 127");
    *entry = (double)(int32_t)0x80808080;
    assert_int_equal(judge(&p, &err), -EBADMSG);
    drop(&p);
    /* The sum of the largest products stays above the poison, and its check is exact. */
    double most = matmul_stored(MATMUL_INT8, 3.4642), sum = most * most * MATMUL_K_MAX;
    assert_true(most == 111 && -sum > (double)(int32_t)0x80808080 && sum < INT32_MAX);
    assert_true(sum * FREIVALDS_GROUP < 0x1p53);
}

/* Sums of so few terms that rounding differs widely between rows. */
TEST(freivalds_passes_short_sums)
{
    const struct matmul_shape shape = {M, N, 1, MATMUL_TN};
    struct freivalds sums = {0};
    struct err err = {0};
    freivalds_add(&sums, 1e-6, 1e-3, (size_t)1 << 20, 0, 0);
    assert_int_equal(freivalds_judge(&sums, MATMUL_BF16, &shape, &err), 0);
    const struct matmul_shape longer = {M, N, 64, MATMUL_TN};
    assert_int_equal(freivalds_judge(&sums, MATMUL_BF16, &longer, &err), -EBADMSG);
    sums.worst = 2 * freivalds_limit(MATMUL_BF16, &shape);
    assert_int_equal(freivalds_judge(&sums, MATMUL_BF16, &shape, &err), -EBADMSG);
}

/* Signs are +1 and -1 equally often, and no two vectors are equal. */
TEST(freivalds_signs_are_fair)
{
    enum { COUNT = 1 << 14 };
    for (unsigned a = 0; a < FREIVALDS_VECTORS; a++)
        for (unsigned b = 0; b <= a; b++) {
            double sum = 0;
            for (uint64_t j = 0; j < COUNT; j++)
                sum += freivalds_sign(SEED, a, j) * (a == b ? 1 : freivalds_sign(SEED, b, j));
            assert_true(fabs(sum) < 5 * sqrt(COUNT));
        }
}

/* Statistics against values worked out by hand, from documentation, or by exact combinatorics. */
#include "harness/lib/stats/stats.h"

#include <math.h>

#include "tests/lib/fixture_result.h"
#include "tests/lib/unit.h"

static double median_of(const double *values, size_t n)
{
    double sorted[64];
    memcpy(sorted, values, n * sizeof(*values));
    return stats_sort_median(sorted, n);
}

TEST(stats_sort_drops_nan)
{
    double values[] = {3, NAN, -1, NAN, 2};
    assert_int_equal(stats_sort(values, 5), 3);
    assert_near(values[0], -1);
    assert_near(values[1], 2);
    assert_near(values[2], 3);
    double none[] = {NAN, NAN};
    assert_int_equal(stats_sort(none, 2), 0);
    assert_int_equal(stats_sort(NULL, 0), 0);
}

TEST(stats_median)
{
    assert_near(median_of((double[]){5}, 1), 5);
    assert_near(median_of((double[]){9, 1}, 2), 5);
    assert_near(median_of((double[]){9, 1, 2}, 3), 2);
    assert_near(median_of((double[]){9, 1, 2, 4}, 4), 3);
    assert_near(median_of((double[]){NAN, 9, 1, 2}, 4), 2);
    assert_true(isnan(median_of((double[]){NAN}, 1)));
    assert_true(isnan(stats_median(NULL, 0)));
}

TEST(stats_infinity_is_far_away)
{
    assert_near(median_of((double[]){1, 2, INFINITY}, 3), 2);
    assert_near(median_of((double[]){-INFINITY, 2, INFINITY}, 3), 2);
    assert_true(isinf(median_of((double[]){1, INFINITY}, 2)));
}

TEST(stats_percentile_is_type_7)
{
    /* numpy.percentile([1, 2, 3, 4], 25) and R's quantile(1:10, c(.25, .95)), type 7. */
    const double four[] = {1, 2, 3, 4};
    assert_near(stats_percentile(four, 4, 0.25), 1.75);
    assert_near(stats_percentile(four, 4, 0.75), 3.25);
    const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_near(stats_percentile(ten, 10, 0.25), 3.25);
    assert_near(stats_percentile(ten, 10, 0.95), 9.55);
    assert_near(stats_percentile(ten, 10, 0.99), 9.91);
    assert_near(stats_percentile(ten, 10, 0), 1);
    assert_near(stats_percentile(ten, 10, 1), 10);
    assert_true(isnan(stats_percentile(NULL, 0, 0.5)));
}

TEST(stats_nearest_rank_is_one_of_the_values)
{
    const double ten[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    assert_true(stats_nearest_rank(ten, 10, 0) == 1);
    assert_true(stats_nearest_rank(ten, 10, 50) == 5);
    assert_true(stats_nearest_rank(ten, 10, 51) == 6);
    assert_true(stats_nearest_rank(ten, 10, 99) == 10);
    assert_true(stats_nearest_rank(ten, 1, 99) == 1);
}

TEST(stats_interval_needs_two_values)
{
    uint32_t counts[1];
    struct stats_interval none = stats_median_interval(NULL, 0, 1, counts);
    struct stats_interval one = stats_median_interval((double[]){4}, 1, 1, counts);
    assert_true(isnan(none.low) && isnan(none.high));
    assert_true(isnan(one.low) && isnan(one.high));
}

/*
 * How often the bootstrap reaches value k of n is exact combinatorics. For an odd n the resampled
 * median is at most the k-th smallest value if at least (n + 1) / 2 of n draws fall on the k
 * smallest: P(k) = P(Binomial(n, k / n) >= (n + 1) / 2). The lower end is the first k with P(k) >
 * 2.5%; the upper end mirrors it. The median is below value k of n with the probability Q(k) =
 * P(Binomial(n, 1/2) <= k - 1). If that exceeds 2.5%, the end is the previous value.
 *   n = 3: P(1) = 7/27 = 26%                       -> 1..3
 *   n = 5: P(1) = 181/3125 = 5.8%                  -> 1..5
 *   n = 7: P(1) = 8359/823543 = 1.0%, P(2) = 10.8% -> 2..6; Q(2) = 8/128 = 6.25% -> 1..7
 *   n = 9: P(1) = 0.1%, P(2) = 2.8%                -> 2..8; Q(2) = 10/512 = 1.95%
 *   n = 11: P(2) = 0.7%, P(3) = 5.1%               -> 3..9; Q(3) = 67/2048 = 3.3%,
 *           Q(2) = 0.6%                            -> 2..10
 * For n = 2 the smallest value is drawn twice in 25% of the resamples, for n = 4 at least three
 * times in 13/256 = 5.1%: the interval is the range again. For n = 6 and 8 the bootstrap alone is
 * narrower than the range; Q(1) = 1/64 and 1/256, Q(2) = 7/64 and 9/256.
 */
TEST(stats_interval_matches_exact_chances)
{
    static const struct {
        size_t n;
        double low, high;
    } exact[] = {{2, 1, 2}, {3, 1, 3}, {4, 1, 4}, {5, 1, 5},  {6, 1, 6},
                 {7, 1, 7}, {8, 1, 8}, {9, 2, 8}, {11, 2, 10}};
    double values[11];
    uint32_t counts[11];
    for (int i = 0; i < 11; i++)
        values[i] = i + 1;
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++)
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct stats_interval ci = stats_median_interval(values, exact[i].n, seed, counts);
            assert_near(ci.low, exact[i].low);
            assert_near(ci.high, exact[i].high);
        }
}

/* Probability that the median lies between values `low` and `high` of n, by n coin tosses. */
static double coverage(size_t n, size_t low, size_t high)
{
    double term = pow(0.5, (double)n), sum = 0;
    for (size_t heads = 0; heads < n; heads++) {
        sum += heads >= low && heads <= high ? term : 0;
        term *= (double)(n - heads) / (double)(heads + 1);
    }
    return sum;
}

/* From six values on the coverage is at least 95% for any distribution, with few values more than
 * needed. */
TEST(stats_interval_is_never_below_95)
{
    enum { MOST = 200 };
    double values[MOST];
    uint32_t counts[MOST];
    for (size_t i = 0; i < MOST; i++)
        values[i] = (double)i;
    for (size_t n = 6; n <= MOST; n++) {
        struct stats_interval ci = stats_median_interval(values, n, n, counts);
        /* An end may lie between two values; the values inside it must suffice. */
        size_t low = (size_t)ceil(ci.low), high = (size_t)floor(ci.high);
        assert_true(coverage(n, low + 1, high) >= 0.95);
        assert_true(ci.high - ci.low <= 2 * 1.96 * sqrt((double)n) / 2 + 3);
    }
    /* With very many values the probability of a single one underflows. */
    enum { MANY = 3000 };
    double *many = calloc(MANY, sizeof(*many));
    uint32_t *room = calloc(MANY, sizeof(*room));
    assert_true(many && room);
    for (size_t i = 0; i < MANY; i++)
        many[i] = (double)i;
    struct stats_interval ci = stats_median_interval(many, MANY, 1, room);
    assert_true(ci.low > 1430 && ci.high < 1570 && ci.low < 1447 && ci.high > 1552);
    free(many);
    free(room);
}

TEST(stats_share_interval_is_clopper_and_pearsons)
{
    /* Computed with exact binomial sums in rational numbers. */
    static const struct {
        unsigned hits, n;
        double low, high;
    } known[] = {{0, 60, 0, 0.0596294923},
                 {57, 60, 0.8607567533, 0.9895676704},
                 {1, 25, 0.0010121997, 0.2035169139},
                 {5, 10, 0.1870860284, 0.8129139716},
                 {25, 25, 0.8628148285, 1}};
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct stats_interval got = stats_share_interval(known[i].hits, known[i].n);
        assert_true(fabs(got.low - known[i].low) < 1e-9);
        assert_true(fabs(got.high - known[i].high) < 1e-9);
    }
    assert_true(isnan(stats_share_interval(0, 0).low) && isnan(stats_share_interval(0, 0).high));
}

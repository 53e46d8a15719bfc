/* Statistics against values worked out by hand, from documentation, or by exact combinatorics. */
#include "harness/lib/stats.h"

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
    struct stats_interval none = stats_median_interval(NULL, 0);
    struct stats_interval one = stats_median_interval((double[]){4}, 1);
    assert_true(isnan(none.low) && isnan(none.high));
    assert_true(isnan(one.low) && isnan(one.high));
}

TEST(stats_interval_has_known_ends)
{
    static const struct {
        size_t n, rank;
    } known[] = {{2, 0}, {5, 0}, {6, 0}, {14, 0}, {15, 1}, {18, 2}, {27, 5}, {100, 33}};
    double values[100];
    for (int i = 0; i < 100; i++)
        values[i] = i + 1;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct stats_interval ci = stats_median_interval(values, known[i].n);
        assert_int_equal(stats_median_rank(known[i].n), known[i].rank);
        assert_near(ci.low, (double)(1 + known[i].rank));
        assert_near(ci.high, (double)(known[i].n - known[i].rank));
    }
}

/*
 * The chance that the low end is ever above the median, for one who looks after each value from the
 * sixth on: a walk over the number of values below the median, each equally likely below or above,
 * that ends where the number is at most the rank.
 */
TEST(stats_interval_holds_whenever_one_looks)
{
    enum { MOST = 3000 };
    double *chance = calloc(MOST + 2, sizeof(*chance)), missed = 0;
    assert_non_null(chance);
    chance[0] = 1;
    for (size_t n = 1; n <= MOST; n++) {
        for (size_t below = n; below > 0; below--)
            chance[below] = (chance[below] + chance[below - 1]) / 2;
        chance[0] /= 2;
        for (size_t below = 0; n >= STATS_RANGE_BELOW && below <= stats_median_rank(n); below++) {
            missed += chance[below];
            chance[below] = 0;
        }
    }
    assert_true(missed > 0.015 && missed <= 0.025);
    /* 1.96 standard deviations, for one look, become less than twice as many. */
    for (size_t n = 15; n <= MOST; n++)
        assert_true((double)n / 2 - (double)stats_median_rank(n) < 2 * sqrt((double)n) + 1.5);
    free(chance);
}

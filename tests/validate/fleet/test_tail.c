/* harness/validate/fleet/tail.h and spread.h, on values whose distribution is known. */
#include "harness/validate/fleet/tail.h"

#include <math.h>

#include "harness/validate/fleet/spread.h"
#include "tests/lib/unit.h"

#define assert_near(value, expected, within) assert_true(fabs((value) - (expected)) <= (within))

enum { N = 4000 };

/* R: qnorm(1 - p). */
TEST(normal_quantiles)
{
    assert_near(tail_normal(0.5), 0, 1e-9);
    assert_near(tail_normal(0.025), 1.959963985, 1e-6);
    assert_near(tail_normal(1e-6), 4.753424309, 1e-6);
    assert_near(tail_normal(1e-9), 5.997807015, 1e-6);
}

/* The values of a generalised extreme value distribution at equal steps of probability. */
static void fill(double *values, double shape)
{
    for (int i = 0; i < N; i++) {
        double reduced = -log(-log((i + 0.5) / N));
        values[i] = 4 + 0.5 * (shape > 0 ? expm1(shape * reduced) / shape : reduced);
    }
}

TEST(light_tails_are_continued_as_they_are)
{
    double values[N], expected = 4 - 0.5 * log(-log1p(-1e-4));
    fill(values, 0);
    assert_near(tail_of_maxima(values, N, 1e-4), expected, 0.02);
}

TEST(heavy_tails_are_continued_far)
{
    double values[N], expected = 4 + 0.5 * expm1(0.3 * -log(-log1p(-1e-4))) / 0.3;
    fill(values, 0.3);
    double limit = tail_of_maxima(values, N, 1e-4);
    assert_true(limit > 0.7 * expected && limit < expected);
}

TEST(wild_values_do_not_move_it)
{
    double values[N], good[N];
    fill(good, 0);
    fill(values, 0);
    for (size_t i = 0; i < N; i += 200)
        values[i] = 1e6;
    double limit = tail_of_maxima(good, N, 1e-4);
    assert_true(tail_of_maxima(values, N, 1e-4) < 1.6 * limit);
}

TEST(too_few_maxima_say_nothing)
{
    double values[19] = {0};
    assert_true(isnan(tail_of_maxima(values, 19, 1e-3)));
}

/* Distances of a normal distribution at equal steps of probability: its standard deviation. */
TEST(spread_of_normal_distances_is_theirs)
{
    double distances[1000];
    for (int i = 0; i < 1000; i++)
        distances[i] = 3 * tail_normal((1 - (i + 0.5) / 1000) / 2);
    assert_near(spread_of_distances(distances, 1000), 3, 0.02);
}

/* A tenth of the values is far away: the median does not see it, the far point does. */
TEST(spread_sees_a_second_mode_of_many)
{
    double distances[1000];
    for (int i = 0; i < 1000; i++)
        distances[i] = i < 900 ? 1 : 8;
    assert_near(spread_of_distances(distances, 1000), 8 / 1.96, 1e-9);
    assert_near(spread_of_distances(distances, 50), 1 / 0.6745, 1e-9);
}

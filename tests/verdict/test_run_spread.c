/* The spread between runs, compared with values worked out by hand. */
#include "harness/verdict/evidence.h"

#include "harness/lib/stats.h"
#include "tests/lib/fixture_result.h"
#include "tests/lib/fixture_sim.h"
#include "tests/lib/unit.h"

static const struct run_spread_known usual;

static struct moments moments_of(const double *values, size_t n)
{
    struct moments moments = {0};
    for (size_t i = 0; i < n; i++)
        moments_add(&moments, values[i]);
    return moments;
}

TEST(moments_are_mean_and_squares)
{
    struct moments moments = moments_of((const double[]){1, 2, 6}, 3);
    assert_int_equal(moments.n, 3);
    assert_near(moments.mean, 3);
    assert_near(moments.squares, 14);
}

TEST(run_spread_of_single_runs_is_what_is_known_before)
{
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of((const double[]){1}, 1),
                                                moments_of((const double[]){5}, 1)};
    struct run_spread spread = run_spread_of(groups, &usual);
    assert_near(spread.sd, 0.03);
    assert_near(spread.df, RUN_SPREAD_BEFORE_DF);
    /* t of 3 degrees of freedom at 0.5% is 5.840909. */
    assert_true(
        fixture_near(run_spread_half_width(&spread, 1, 1, 0.005), 5.840909 * 0.03 * sqrt(2), 1e-6));
}

TEST(run_spread_of_many_runs_is_theirs)
{
    const double values[] = {-0.02, -0.01, 0, 0.01,
                             0.02}; /* sum of squares 0.001, 4 degrees of freedom */
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of(values, 5), moments_of(values, 5)};
    struct run_spread spread = run_spread_of(groups, &usual);
    assert_near(spread.df, 8 + RUN_SPREAD_BEFORE_DF);
    assert_near(spread.sd, sqrt((0.002 + 3 * 0.0009) / 11));
    assert_near(spread.own_df, 0);
}

/* Three runs a side that agree within each side may be two modes, so their small spread is not
 * trusted. */
TEST(run_spread_of_few_runs_keeps_its_doubt)
{
    const double values[] = {0, 0, 0};
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of(values, 3), moments_of(values, 3)};
    struct run_spread spread = run_spread_of(groups, &usual);
    assert_near(spread.df, RUN_SPREAD_BEFORE_DF);
    assert_near(spread.sd, 0.03 * sqrt(3.0 / 7));
}

TEST(run_spread_says_how_many_runs_would_do)
{
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of((const double[]){1}, 1),
                                                moments_of((const double[]){1}, 1)};
    struct run_spread spread = run_spread_of(groups, &usual);
    unsigned of_10 = run_spread_runs_needed(&spread, 0.1, 0.0005, 20);
    assert_int_equal(of_10, 6);
    assert_true(run_spread_runs_needed(&spread, 0.3, 0.0005, 20) <= of_10);
    assert_int_equal(run_spread_runs_needed(&spread, 0.001, 0.0005, 20), 0);
}

static bool finds(double difference, double sd, unsigned runs, double tail, uint64_t *seed)
{
    struct moments groups[RUN_SPREAD_GROUPS] = {{.n = 0}};
    for (unsigned i = 0; i < runs; i++) {
        moments_add(&groups[RUN_SPREAD_BASE], sd * sim_normal(seed));
        moments_add(&groups[RUN_SPREAD_OTHER], difference + sd * sim_normal(seed));
    }
    struct run_spread spread = run_spread_of(groups, &usual);
    return groups[RUN_SPREAD_OTHER].mean - groups[RUN_SPREAD_BASE].mean >
           run_spread_half_width(&spread, runs, runs, tail);
}

TEST(run_spread_asks_for_runs_that_find_it)
{
    enum { TRIALS = 4000 };
    static const double sds[] = {0.03, 0.045, 0.06};
    const double tail = 0.0025, difference = 0.1;
    uint64_t seed = 20261124;
    for (size_t i = 0; i < sizeof(sds) / sizeof(sds[0]); i++) {
        const struct run_spread spread = {.sd = sds[i], .df = 8};
        unsigned runs = run_spread_runs_needed(&spread, difference, tail, 20), found = 0;
        assert_true(runs > 0);
        for (int k = 0; k < TRIALS; k++)
            found += finds(difference, sds[i], runs, tail, &seed);
        assert_in_range(found, TRIALS * 85 / 100, TRIALS * 97 / 100);
    }
}

/* A nearly normal deviate. */
static double draw(uint64_t *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_share(state);
    return sum;
}

/* The uncertainty is that of the median: that by which it varies between sets of rounds. */
TEST(run_spread_of_rounds_is_how_much_their_median_varies)
{
    static const unsigned rounds[] = {2, 4, 8, 9, 14, 15, 30, 60};
    enum { SETS = 4000, MOST = 60 };
    const double spread = 0.05;
    for (size_t i = 0; i < sizeof(rounds) / sizeof(*rounds); i++) {
        struct moments medians = {0}, said = {0};
        uint64_t chance = rounds[i];
        for (int set = 0; set < SETS; set++) {
            double values[MOST];
            for (unsigned round = 0; round < rounds[i]; round++)
                values[round] = exp(spread * draw(&chance));
            size_t n = stats_sort(values, rounds[i]);
            struct stats_interval ci = stats_median_interval(values, n);
            moments_add(&medians, log(stats_median(values, n)));
            moments_add(&said, run_spread_of_rounds(ci.low, ci.high, rounds[i]));
        }
        double ratio = said.mean / sqrt(medians.squares / (SETS - 1));
        print_message("%u rounds: %.2f\n", rounds[i], ratio);
        assert_true(ratio > 0.9 && ratio < 1.25);
    }
    assert_near(run_spread_of_rounds(1, 2, 1), 0);
    assert_near(run_spread_of_rounds((double)NAN, (double)NAN, 4), 0);
    assert_near(run_spread_of_rounds(0, 1, 4), 0);
}

TEST(run_spread_beyond_what_is_known_is_not_moderated)
{
    const double values[] = {-2, -1, 0, 1, 2};
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of(values, 5), moments_of(values, 5)};
    struct run_spread spread = run_spread_of(groups, &(struct run_spread_known){.rounds = 5});
    assert_near(spread.df, 8);
    assert_near(spread.sd, sqrt(20.0 / 8));
}

TEST(run_spread_of_few_runs_is_not_below_that_of_rounds)
{
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of((const double[]){1}, 1),
                                                moments_of((const double[]){1}, 1)};
    assert_near(run_spread_of(groups, &(struct run_spread_known){.rounds = 0.2}).sd, 0.2);
}

/* Two distant runs a side, by hand: the upper 0.25% of Student's t begin at 14.0890 with 2 degrees
 * of freedom; with 3, that is with earlier knowledge, at 7.4533. */
TEST(run_spread_of_few_runs_is_their_own_too)
{
    const double values[] = {-0.1, 0.1};
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of(values, 2), moments_of(values, 2)};
    struct run_spread spread = run_spread_of(groups, &usual);
    double half = run_spread_half_width(&spread, 2, 2, 0.0025);
    assert_true(fixture_near(half, 14.0890 * sqrt(0.04 / 2), 1e-4));
    assert_true(fixture_near(run_spread_chance(&spread, 2, 2, half), 0.005, 1e-6));
}

/* With few runs, rounds of a hundredth of the usual length give ten times the assumed spread. */
TEST(run_spread_of_short_rounds_is_wider)
{
    const double values[] = {0, 0};
    struct run_spread_known shorter = {.round_s = RUN_SPREAD_ROUND_S / 100};
    struct moments groups[RUN_SPREAD_GROUPS] = {moments_of(values, 2), moments_of(values, 2)};
    assert_near(run_spread_of(groups, &shorter).sd, 10 * run_spread_of(groups, &usual).sd);
    groups[RUN_SPREAD_BASE].n = groups[RUN_SPREAD_OTHER].n = RUN_SPREAD_RUNS_LEAST;
    assert_near(run_spread_of(groups, &shorter).sd, run_spread_of(groups, &usual).sd);
}

TEST(run_spread_of_a_long_history_counts)
{
    struct moments groups[RUN_SPREAD_GROUPS] = {
        {.n = 1}, {.n = 1}, {.n = 15, .squares = 14 * 0.0008}};
    assert_near(run_spread_of(groups, &usual).df, 14 + RUN_SPREAD_BEFORE_DF);
    groups[RUN_SPREAD_HISTORY].n = 14;
    assert_near(run_spread_of(groups, &usual).df, RUN_SPREAD_BEFORE_DF);
}

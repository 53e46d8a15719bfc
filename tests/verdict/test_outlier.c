#include "harness/verdict/outlier.h"

#include "tests/lib/fixture_sim.h"
#include "tests/lib/trials.h"
#include "tests/lib/unit.h"

static struct outlier_judgement judgement;

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", got, expected);
}

static size_t judge(const double *values, size_t n, enum outlier_sense sense, double least)
{
    struct outlier_value all[OUTLIER_UNITS_MAX];
    size_t odd = 0;
    assert_true(n <= OUTLIER_UNITS_MAX);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct outlier_value){.value = values[i], .low = NAN, .high = NAN};
    outlier_judge(all, n, sense, least, &judgement);
    for (size_t i = 0; i < n; i++)
        odd += judgement.unit[i].odd;
    assert_int_equal(odd > 0, judgement.verdict == OUTLIER_ODD);
    return odd;
}

/* Values worked out by hand, as in the header's example. */
TEST(outlier_names_the_slow_one)
{
    const double gbps[] = {56.9, 57.0, 14.1, 57.1};
    assert_int_equal(judge(gbps, 4, OUTLIER_HIGHER, 0), 1);
    assert_true(judgement.unit[2].odd);
    assert_near(judgement.unit[2].ratio, 14.1 / 57.0);
    assert_near(judgement.unit[2].z, 0.6745 * (14.1 - 57.0) / 0.57);
    assert_near(judgement.typical, 57.0);
    assert_near(judgement.spread, 0.2 / 57.0);
    const double us[] = {5.0, 5.1, 20.0, 4.9};
    assert_int_equal(judge(us, 4, OUTLIER_LOWER, 0), 1);
    assert_true(judgement.unit[2].odd);
    assert_near(judgement.unit[2].ratio, 5.0 / 20.0);
    assert_true(judgement.unit[2].z < -OUTLIER_Z);
    /* A value that is better than its peers is no fault. */
    assert_int_equal(judge(us, 4, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judge(us, 4, OUTLIER_LOWER, 16), 0);
}

TEST(outlier_needs_a_clear_majority)
{
    const double two[] = {57, 14}, near[] = {57, 55}, split[] = {57, 57.1, 25, 25.2};
    const double one[] = {57};
    assert_int_equal(judge(two, 2, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_TWO);
    assert_near(judgement.typical, 57);
    assert_int_equal(judge(near, 2, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_ALIKE);
    assert_int_equal(judge(split, 4, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    assert_int_equal(judgement.nlow, 2);
    assert_near(judgement.typical, 57.05);
    const double quarter[] = {57, 57, 57, 57, 57, 57, 25, 25};
    assert_int_equal(judge(quarter, 8, OUTLIER_HIGHER, 0), 2);
    assert_int_equal(judge(one, 1, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_NONE);
}

/* Links of three speeds, few of them slow: a property of the machine and no fault. */
TEST(outlier_accepts_many_groups)
{
    double gbps[32];
    for (size_t i = 0; i < 32; i++)
        gbps[i] = i < 12 ? 48 : i < 22 ? 24 : 16;
    assert_int_equal(judge(gbps, 32, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
}

/* A rate of 0 is a failure, for any other values. */
TEST(outlier_names_the_dead_one)
{
    const double dead[] = {57, 57, 57, 0}, group[] = {57, 57, 25, 25, 0}, two[] = {57, 0};
    const double most[] = {57, 0, 0, 0}, all[] = {0, 0, 0};
    assert_int_equal(judge(dead, 4, OUTLIER_HIGHER, 0), 1);
    assert_true(judgement.unit[3].odd && judgement.unit[3].ratio == 0);
    assert_near(judgement.typical, 57);
    assert_int_equal(judge(group, 5, OUTLIER_HIGHER, 0), 1);
    assert_true(judgement.unit[4].odd);
    assert_near(judgement.typical, 57);
    assert_int_equal(judge(two, 2, OUTLIER_HIGHER, 0), 1);
    assert_true(judgement.unit[1].odd);
    assert_int_equal(judge(most, 4, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    assert_int_equal(judge(all, 3, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_NONE);
}

TEST(outlier_refuses_what_has_no_ratio)
{
    static const double bad[] = {-1, -INFINITY, INFINITY, NAN};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const double values[] = {57, 57, 57, bad[i]};
        for (enum outlier_sense sense = OUTLIER_LOWER; sense <= OUTLIER_WAITED; sense++) {
            assert_int_equal(judge(values, 4, sense, 0), 0);
            assert_int_equal(judgement.verdict, OUTLIER_NONE);
        }
    }
    const double no_time[] = {57, 57, 57, 0};
    assert_int_equal(judge(no_time, 4, OUTLIER_LOWER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_NONE);
}

/* A unit that is better than all others is no fault, but the units are not called equal. */
TEST(outlier_calls_nothing_alike_that_is_far_apart)
{
    const double one[] = {57, 28, 28, 28}, many[] = {57, 57, 57, 28, 28, 28, 28, 28};
    const double close[] = {57, 52, 57, 57}, us[] = {5, 5, 5, 3};
    assert_int_equal(judge(one, 4, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    assert_int_equal(judgement.nlow, 0);
    assert_near(judgement.spread, 29.0 / 28);
    assert_int_equal(judge(many, 8, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    assert_int_equal(judgement.nlow, 0);
    assert_int_equal(judge(close, 4, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_ALIKE);
    assert_int_equal(judge(us, 4, OUTLIER_LOWER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    assert_int_equal(judge(us, 4, OUTLIER_LOWER, 2.5), 0);
    assert_int_equal(judgement.verdict, OUTLIER_ALIKE);
}

/* With three values the distance of two is the only estimate of the noise. */
TEST(outlier_leaves_the_middle_of_three)
{
    const double even[] = {112, 100, 88}, slow[] = {58, 56, 14};
    assert_int_equal(judge(even, 3, OUTLIER_HIGHER, 0), 0);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    assert_int_equal(judgement.nlow, 0);
    assert_near(judgement.unit[2].z, 0.6745 * (88 - 106) / 6);
    assert_near(judgement.typical, 100);
    assert_near(judgement.spread, 0.24);
    assert_int_equal(judge(slow, 3, OUTLIER_HIGHER, 0), 1);
    assert_true(judgement.unit[2].odd);
}

/* Microseconds that each rank waits for the last one, which itself does not wait. */
TEST(outlier_blames_who_is_waited_for)
{
    static const struct {
        double us[8];
        size_t n;
        int odd; /* -1 = none */
        enum outlier_verdict verdict;
    } cases[] = {
        {{900, 900, 900, 0}, 4, 3, OUTLIER_ODD},
        {{900, 905, 910, 0.5}, 4, 3, OUTLIER_ODD},
        {{0.5, 61, 60, 62}, 4, 0, OUTLIER_ODD},
        {{900, 6, 5, 4}, 4, -1, OUTLIER_SPLIT},
        {{900, 880, 5, 0}, 4, -1, OUTLIER_SPLIT},
        {{30, 30, 30, 0}, 4, -1, OUTLIER_ALIKE},
        {{0, 0, 0, 0}, 4, -1, OUTLIER_ALIKE},
        {{900, 0}, 2, 1, OUTLIER_ODD},
        {{3, 60}, 2, 0, OUTLIER_ODD},
        {{0, 49}, 2, -1, OUTLIER_ALIKE},
        {{900, 880, 910, 890, 905, 895, 1, 0}, 8, 6, OUTLIER_ODD},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t odd = judge(cases[i].us, cases[i].n, OUTLIER_WAITED, 50);
        if (judgement.verdict != cases[i].verdict || (odd > 0) != (cases[i].odd >= 0) ||
            (odd && !judgement.unit[cases[i].odd].odd))
            fail_msg("case %zu: %s, %zu odd", i, outlier_verdict_name(judgement.verdict), odd);
    }
}

/* A value that was good in some rounds is neither an outlier nor equal to the others. */
TEST(outlier_heeds_intervals)
{
    struct outlier_value values[4] = {{57, 57, 58}, {57, 57, 58}, {40, 39, 56}, {57, 57, 58}};
    outlier_judge(values, 4, OUTLIER_HIGHER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    values[2].high = 45;
    outlier_judge(values, 4, OUTLIER_HIGHER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_ODD);
}

/* Medians and ranges over three rounds of two equal H200s, launches and copies, in us. */
TEST(outlier_needs_rounds_that_agree)
{
    struct outlier_value launches[2] = {{4.07, 3.95, 4.53}, {4.68, 3.76, 4.99}};
    struct outlier_value copies[2] = {{7.21, 6.83, 8.20}, {8.13, 7.32, 8.33}};
    outlier_judge(launches, 2, OUTLIER_LOWER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_ALIKE);
    outlier_judge(copies, 2, OUTLIER_LOWER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_ALIKE);
    copies[1].low = 8.11; /* less than 5% apart; from 5% on the difference is certain */
    copies[0].high = 7.80;
    outlier_judge(copies, 2, OUTLIER_LOWER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_TWO);
    struct outlier_value better[3] = {{100, 99, 101}, {100, 99, 101}, {120, 118, 121}};
    outlier_judge(better, 3, OUTLIER_HIGHER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_SPLIT);
    better[2].low = 101;
    outlier_judge(better, 3, OUTLIER_HIGHER, 0, &judgement);
    assert_int_equal(judgement.verdict, OUTLIER_ALIKE);
}

static double noisy(uint64_t *seed, double deviation)
{
    return 1 + deviation * sim_normal(seed);
}

enum { COMPARISONS = 40 };

/* A machine makes 40 comparisons; fewer than 1% of machines may have any false alarm. */
TEST(outlier_keeps_quiet_at_noise)
{
    static const size_t sizes[] = {3, 4, 8, 12, 56};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        unsigned alarms = 0, seeds = trials(1000, 100);
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            uint64_t random = seed * 0x9e3779b97f4a7c15ULL;
            size_t odd = 0;
            for (unsigned i = 0; i < COMPARISONS; i++) {
                double values[56];
                for (size_t u = 0; u < sizes[s]; u++)
                    values[u] = 57 * noisy(&random, 0.02);
                odd += judge(values, sizes[s], i % 2 ? OUTLIER_HIGHER : OUTLIER_LOWER, 0);
            }
            alarms += odd > 0;
        }
        print_message("%zu units: %u false alarms in %u machines of %d comparisons\n", sizes[s],
                      alarms, seeds, COMPARISONS);
        assert_in_range(alarms, 0, seeds / 100 - 1);
    }
}

TEST(outlier_always_finds_the_slow_one)
{
    static const size_t sizes[] = {4, 8, 12};
    static const double shares[] = {0.25, 0.8};
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++)
            for (uint64_t seed = 1; seed <= trials(1000, 100); seed++) {
                uint64_t random = seed * 0x9e3779b97f4a7c15ULL;
                double values[12];
                size_t slow = seed % sizes[s];
                for (size_t u = 0; u < sizes[s]; u++)
                    values[u] = 57 * noisy(&random, 0.02) * (u == slow ? shares[k] : 1);
                if (judge(values, sizes[s], OUTLIER_HIGHER, 0) != 1 || !judgement.unit[slow].odd)
                    fail_msg("1 of %zu at %g was not found alone, seed %llu", sizes[s], shares[k],
                             (unsigned long long)seed);
            }
}

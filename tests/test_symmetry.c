#include "harness/symmetry.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct symmetry_judgement judgement;

static void assert_near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.12g is not %.12g", got, expected);
}

static size_t judge(const double *values, size_t n, bool higher, double least)
{
    struct symmetry_value all[SYMMETRY_UNITS_MAX];
    size_t odd = 0;
    assert_true(n <= SYMMETRY_UNITS_MAX);
    for (size_t i = 0; i < n; i++)
        all[i] = (struct symmetry_value){.value = values[i], .best = NAN};
    symmetry_judge(all, n, higher, least, &judgement);
    for (size_t i = 0; i < n; i++)
        odd += judgement.unit[i].odd;
    assert_int_equal(odd > 0, judgement.verdict == SYMMETRY_ODD);
    return odd;
}

/* Figures worked out by hand, as in the header's example. */
static void test_symmetry_names_the_slow_one(void **state)
{
    (void)state;
    const double gbps[] = {56.9, 57.0, 14.1, 57.1};
    assert_int_equal(judge(gbps, 4, true, 0), 1);
    assert_true(judgement.unit[2].odd);
    assert_near(judgement.unit[2].ratio, 14.1 / 57.0);
    assert_near(judgement.unit[2].z, 0.6745 * (14.1 - 57.0) / 0.57);
    assert_near(judgement.typical, 57.0);
    assert_near(judgement.spread, 0.2 / 57.0);
    const double us[] = {5.0, 5.1, 20.0, 4.9};
    assert_int_equal(judge(us, 4, false, 0), 1);
    assert_true(judgement.unit[2].odd);
    assert_near(judgement.unit[2].ratio, 5.0 / 20.0);
    assert_true(judgement.unit[2].z < -SYMMETRY_Z);
    /* What is better than its peers is no fault. */
    assert_int_equal(judge(us, 4, true, 0), 0);
    assert_int_equal(judge(us, 4, false, 16), 0);
}

static void test_symmetry_needs_a_clear_majority(void **state)
{
    (void)state;
    const double two[] = {57, 14}, near[] = {57, 55}, split[] = {57, 57.1, 25, 25.2};
    const double one[] = {57}, zero[] = {57, 57, 0}, nan[] = {57, 57, NAN};
    assert_int_equal(judge(two, 2, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_TWO);
    assert_near(judgement.typical, 57);
    assert_int_equal(judge(near, 2, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_ALIKE);
    assert_int_equal(judge(split, 4, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_SPLIT);
    assert_int_equal(judgement.nlow, 2);
    assert_near(judgement.typical, 57.05);
    const double quarter[] = {57, 57, 57, 57, 57, 57, 25, 25};
    assert_int_equal(judge(quarter, 8, true, 0), 2);
    assert_int_equal(judge(one, 1, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_NONE);
    assert_int_equal(judge(zero, 3, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_NONE);
    assert_int_equal(judge(nan, 3, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_NONE);
}

/* Links of three speeds, the slowest being fewest: how such a machine is, and no fault. */
static void test_symmetry_accepts_many_groups(void **state)
{
    (void)state;
    double gbps[32];
    for (size_t i = 0; i < 32; i++)
        gbps[i] = i < 12 ? 48 : i < 22 ? 24 : 16;
    assert_int_equal(judge(gbps, 32, true, 0), 0);
    assert_int_equal(judgement.verdict, SYMMETRY_SPLIT);
}

/* A value that was also good in some rounds is not told apart. */
static void test_symmetry_heeds_intervals(void **state)
{
    (void)state;
    struct symmetry_value values[4] = {{57, 58}, {57, 58}, {40, 56}, {57, 58}};
    symmetry_judge(values, 4, true, 0, &judgement);
    assert_int_equal(judgement.verdict, SYMMETRY_ALIKE);
    values[2].best = 45;
    symmetry_judge(values, 4, true, 0, &judgement);
    assert_int_equal(judgement.verdict, SYMMETRY_ODD);
}

/* xorshift64*, Vigna 2016. */
static double uniform(uint64_t *seed)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return ((double)((*seed * 0x2545f4914f6cdd1dULL) >> 11) + 0.5) / 9007199254740992.0;
}

/* Normal with that deviation around 1 (Box and Muller 1958). */
static double noisy(uint64_t *seed, double deviation)
{
    double radius = sqrt(-2 * log(uniform(seed)));
    return 1 + deviation * radius * cos(6.283185307179586 * uniform(seed));
}

enum { SEEDS = 1000, COMPARISONS = 40 };

/* A machine is 40 comparisons; fewer than 1% of machines may see even one false alarm. */
static void test_symmetry_keeps_quiet_at_noise(void **state)
{
    static const size_t sizes[] = {3, 4, 8, 12, 56};
    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        unsigned alarms = 0;
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            uint64_t random = seed * 0x9e3779b97f4a7c15ULL;
            size_t odd = 0;
            for (unsigned i = 0; i < COMPARISONS; i++) {
                double values[56];
                for (size_t u = 0; u < sizes[s]; u++)
                    values[u] = 57 * noisy(&random, 0.02);
                odd += judge(values, sizes[s], i % 2, 0);
            }
            alarms += odd > 0;
        }
        print_message("%zu units: %u false alarms in %d machines of %d comparisons\n", sizes[s],
                      alarms, SEEDS, COMPARISONS);
        assert_in_range(alarms, 0, SEEDS / 100 - 1);
    }
}

static void test_symmetry_always_finds_the_slow_one(void **state)
{
    static const size_t sizes[] = {4, 8, 12};
    static const double shares[] = {0.25, 0.8};
    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
        for (size_t k = 0; k < sizeof(shares) / sizeof(shares[0]); k++)
            for (uint64_t seed = 1; seed <= SEEDS; seed++) {
                uint64_t random = seed * 0x9e3779b97f4a7c15ULL;
                double values[12];
                size_t slow = seed % sizes[s];
                for (size_t u = 0; u < sizes[s]; u++)
                    values[u] = 57 * noisy(&random, 0.02) * (u == slow ? shares[k] : 1);
                if (judge(values, sizes[s], true, 0) != 1 || !judgement.unit[slow].odd)
                    fail_msg("1 of %zu at %g was not found alone, seed %llu", sizes[s], shares[k],
                             (unsigned long long)seed);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_symmetry_names_the_slow_one),
        cmocka_unit_test(test_symmetry_needs_a_clear_majority),
        cmocka_unit_test(test_symmetry_accepts_many_groups),
        cmocka_unit_test(test_symmetry_heeds_intervals),
        cmocka_unit_test(test_symmetry_keeps_quiet_at_noise),
        cmocka_unit_test(test_symmetry_always_finds_the_slow_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Latencies of requests, compared with values worked out by hand. */
#include "bench/feed/serve_point.h"
#include "tests/lib/unit.h"

#define MS UINT64_C(1000000)

/* Services of 4 ms: the second and the third request wait, the last is never begun. */
static const struct served_request requests[] = {
    {1 * MS, 1 * MS, 5 * MS}, /* before the counted time */
    {10 * MS, 10 * MS, 14 * MS},
    {11 * MS, 14 * MS, 18 * MS},
    {13 * MS, 18 * MS, 22 * MS},
    {19 * MS, 0, 0},
    {30 * MS, 0, 0}, /* after the counted time */
};
static const struct served served = {
    .requests = requests, .n = 6, .from_ns = 10 * MS, .to_ns = 20 * MS, .over_ns = 25 * MS};

static void assert_near(double got, double want)
{
    assert_true(fabs(got - want) < 1e-9);
}

TEST(served_counts_from_when_each_was_to_come)
{
    double ms[6];
    struct served_part part = served_counted(&served);
    assert_int_equal(part.first, 1);
    assert_int_equal(part.n, 4);
    served_latencies(&served, ms);
    assert_near(ms[0], 4);
    assert_near(ms[1], 7);
    assert_near(ms[2], 9);
    assert_near(ms[3], -6); /* at least 6 ms */
    assert_int_equal(served_services(&served, ms), 3);
    for (int i = 0; i < 3; i++)
        assert_near(ms[i], 4);
    assert_int_equal(served_done(&served), 2);
}

TEST(served_worst_by_bins_of_when_they_came)
{
    double worst_ms[3] = {NAN, NAN, NAN};
    served_worst(&served, 4 * MS, worst_ms, 3); /* 10 to 14, to 18, to 20 */
    assert_near(worst_ms[0], 9);
    assert_true(isnan(worst_ms[1]));
    assert_near(worst_ms[2], 6);
}

TEST(served_percentiles_say_when_they_are_bounds)
{
    double ms[] = {3, 1, -4, 2, 5};
    struct served_all all = served_sort(ms, 5);
    assert_int_equal(all.n, 5);
    assert_int_equal(all.unserved, 1);
    assert_near(all.least_bound, 4);
    struct served_value p50 = served_percentile(&all, 0.5), p80 = served_percentile(&all, 0.6);
    struct served_value max = served_percentile(&all, 1);
    assert_near(p50.ms, 3);
    assert_false(p50.at_least);
    assert_near(p80.ms, 3.4);
    assert_true(p80.at_least); /* between 3 and a value of at least 4 */
    assert_near(max.ms, 5);
    assert_true(max.at_least);

    struct served_all none = served_sort(ms, 0);
    assert_true(isnan(served_percentile(&none, 0.5).ms));
    assert_false(served_percentile(&none, 0.5).at_least);
}

TEST(served_saturates_between_two_loads)
{
    static const double loads[] = {20, 40, 60}, p99_ms[] = {1, 2, 8};
    struct served_saturation found = served_saturate(loads, p99_ms, 3, 4);
    assert_near(found.load, 50); /* half way from 2 to 8 on a log scale */
    assert_false(found.low || found.high);
    found = served_saturate(loads, p99_ms, 3, 0.5);
    assert_near(found.load, 20);
    assert_true(found.low && !found.high);
    found = served_saturate(loads, p99_ms, 3, 8);
    assert_near(found.load, 60);
    assert_true(found.high && !found.low);
}

/* The first crossing counts: in one round a higher load may happen to have a lower latency. */
TEST(served_saturates_where_it_first_passes)
{
    static const double loads[] = {20, 40, 60}, p99_ms[] = {1, 16, 2};
    assert_near(served_saturate(loads, p99_ms, 3, 4).load, 30);
}

TEST(served_knows_a_percentile_from_ten_above_it)
{
    static const struct {
        size_t n;
        double fraction;
        enum served_known known;
    } cases[] = {
        {1, 1, SERVED_KNOWN},      {1, 0.5, SERVED_BEYOND},      {2, 0.5, SERVED_FEW},
        {20, 0.5, SERVED_KNOWN},   {99, 0.99, SERVED_BEYOND},    {100, 0.99, SERVED_FEW},
        {999, 0.99, SERVED_FEW},   {1000, 0.99, SERVED_KNOWN},   {999, 0.999, SERVED_BEYOND},
        {9999, 0.999, SERVED_FEW}, {10000, 0.999, SERVED_KNOWN}, {0, 0.5, SERVED_BEYOND},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(served_know(cases[i].n, cases[i].fraction), cases[i].known);
}

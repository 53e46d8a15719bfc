/* Schedules of requests: the right mean rate, in order, drawn from the seed alone. */
#include "bench/feed/serve_point.h"
#include "tests/lib/unit.h"

enum { MOST = 200000 };
static uint64_t at_ns[MOST], other_ns[MOST];

static struct arrivals_params poisson(double rate, uint64_t seed)
{
    return (struct arrivals_params){
        .pattern = ARRIVALS_POISSON, .rate = rate, .burst = 4, .seed = seed, .span_ns = 1000000000};
}

static void check_order(size_t n, uint64_t span_ns)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(at_ns[i] < span_ns);
        assert_true(i == 0 || at_ns[i] >= at_ns[i - 1]);
    }
}

/* A seed always draws the same schedule, so a bound of five standard deviations of a Poisson count
 * holds in every run or in none. */
TEST(arrivals_come_at_their_rate)
{
    struct arrivals_params params = poisson(50000, 7);
    size_t n = arrivals_draw(&params, at_ns, MOST);
    assert_true(fabs((double)n - 50000) < 5 * sqrt(50000));
    check_order(n, params.span_ns);

    params.pattern = ARRIVALS_BURSTS;
    n = arrivals_draw(&params, at_ns, MOST);
    assert_true(fabs((double)n - 50000) < 5 * 4 * sqrt(50000.0 / 4));
    check_order(n, params.span_ns);
}

/* Independent gaps: their mean is their standard deviation, and enough gaps exceed it. */
TEST(arrivals_have_exponential_gaps)
{
    struct arrivals_params params = poisson(50000, 11);
    size_t n = arrivals_draw(&params, at_ns, MOST), above = 0;
    double sum = 0, squares = 0;
    for (size_t i = 1; i < n; i++) {
        double gap = (double)(at_ns[i] - at_ns[i - 1]);
        sum += gap;
        squares += gap * gap;
        above += gap > 20000;
    }
    double gaps = (double)(n - 1), mean = sum / gaps;
    assert_true(fabs(mean / 20000 - 1) < 0.02);
    assert_true(fabs(sqrt(squares / gaps - mean * mean) / mean - 1) < 0.03);
    assert_true(fabs((double)above / gaps - exp(-1)) < 0.01);
}

TEST(arrivals_of_a_burst_come_at_once)
{
    struct arrivals_params params = poisson(1000, 3);
    params.pattern = ARRIVALS_BURSTS;
    size_t n = arrivals_draw(&params, at_ns, MOST);
    assert_true(n > 0 && n % 4 == 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(at_ns[i], at_ns[i - i % 4]);
}

/* Twice the rate gives the same schedule in half the time, so loads differ in nothing else. */
TEST(arrivals_of_other_rates_are_the_same_stretched)
{
    struct arrivals_params slow = poisson(1000, 5), fast = poisson(2000, 5);
    size_t n = arrivals_draw(&slow, at_ns, MOST);
    assert_true(arrivals_draw(&fast, other_ns, MOST) > n);
    for (size_t i = 0; i < n; i++)
        assert_true(llabs((long long)at_ns[i] - 2 * (long long)other_ns[i]) <= 2);
}

TEST(arrivals_differ_by_seed)
{
    struct arrivals_params one = poisson(1000, 5), two = poisson(1000, 6);
    size_t n = arrivals_draw(&one, at_ns, MOST), same = 0;
    size_t m = arrivals_draw(&two, other_ns, MOST);
    for (size_t i = 0; i < n && i < m; i++)
        same += at_ns[i] == other_ns[i];
    assert_true(same < 3);
    assert_int_equal(arrivals_draw(&one, other_ns, MOST), n);
    assert_memory_equal(at_ns, other_ns, n * sizeof(*at_ns));
}

TEST(arrivals_are_counted_and_cut)
{
    struct arrivals_params params = poisson(1000, 5);
    size_t n = arrivals_draw(&params, NULL, MOST);
    assert_int_equal(arrivals_draw(&params, at_ns, n), n);
    other_ns[n - 1] = 17;
    assert_int_equal(arrivals_draw(&params, other_ns, n - 1), n);
    assert_int_equal(other_ns[n - 1], 17);
    params.span_ns = 0;
    assert_int_equal(arrivals_draw(&params, at_ns, MOST), 0);
}

/* Requests by a schedule, through the contract. Load may make them later, never earlier. */
#include "bench/feed/serve_point.h"
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

#define SMALL "rows=8", "cols=64", "sim_work_us=50"

static struct bench_machine machine;

/* A request takes 2 ms of the model's time, so the model serves at most 500 a second of 10,000. */
TEST(serve_overload_ends_and_says_so)
{
    static const char *const pairs[] = {
        "rows=8", "cols=64", "sim_work_us=1000", "rate=2000", "arrival=poisson", "load=500", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_serve, &machine, pairs, 0.5);
    assert_true(scan_value(&scan, "serve_offered", "arrival=poisson;load=500") > 9000);
    assert_true(scan_value(&scan, "serve_achieved", "arrival=poisson;load=500") < 510);
    assert_true(scan_value(&scan, "serve_unserved", "arrival=poisson;load=500") > 0.9);
    const char *why = scan_reason(&scan, "serve_latency", "arrival=poisson;load=500;stat=p50");
    assert_non_null(why);
    assert_has(why, "at least");
    /* Half of the requests arrived more than half the counted time before the end. */
    assert_true(scan_value(&scan, "serve_latency", "arrival=poisson;load=500;stat=p50") > 100);
    assert_true(isnan(scan_value(&scan, "serve_saturation", "arrival=poisson")));
}

static void check_point(const struct scan *scan, const char *pattern, int load)
{
    static const char *const stats[] = {"p50", "p99", "max"};
    char key[64];
    double before_ms = 0.1; /* the model's work alone */
    for (int i = 0; i < 3; i++) {
        put_text(key, "arrival=%s;load=%d;stat=%s", pattern, load, stats[i]);
        double late_ms = scan_value(scan, "serve_latency", key);
        assert_true(late_ms >= before_ms);
        before_ms = late_ms;
    }
    put_text(key, "arrival=%s;load=%d", pattern, load);
    double unserved = scan_value(scan, "serve_unserved", key);
    assert_true(scan_value(scan, "serve_offered", key) > 0);
    assert_true(scan_value(scan, "serve_achieved", key) >= 0);
    assert_true(unserved >= 0 && unserved <= 1);
}

TEST(serve_sweeps_loads_of_both_patterns)
{
    static const char *const pairs[] = {SMALL, "rate=1000", NULL};
    static const char *const patterns[] = {"poisson", "bursts"};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_serve, &machine, pairs, 4.5);
    for (int p = 0; p < 2; p++) {
        char key[32];
        int ends = 20 * p; /* bursts lack the first and the last load */
        for (int load = 20 + ends; load <= 100 - ends; load += 20)
            check_point(&scan, patterns[p], load);
        put_text(key, "arrival=%s", patterns[p]);
        double load = scan_value(&scan, "serve_saturation", key);
        assert_true(load >= 20 && load <= 100);
        double rate = scan_value(&scan, "serve_saturation_rate", key);
        assert_true(fabs(rate - 10 * load) < 1e-6);
    }
    assert_int_equal(scan_count(&scan, "serve_offered"), 8);
}

/*
 * A percentile that the requests cannot show is skipped, with what to ask for; one that few
 * requests show is in doubt. At 1000 a second two thirds of 400 ms count, 267 requests, of which
 * 2.7 lie above p99.
 */
TEST(serve_percentiles_need_requests_above_them)
{
    static const char *const pairs[] = {SMALL, "rate=1000", "load=100", "arrival=poisson", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_serve, &machine, pairs, 0.5);
    assert_true(isnan(scan_value(&scan, "serve_latency", "arrival=poisson;load=100;stat=p99.9")));
    const char *why = scan_reason(&scan, "serve_latency", "arrival=poisson;load=100;stat=p99.9");
    assert_non_null(why);
    assert_has(why, ": --time 20 has");
    assert_true(isnan(scan_value(&scan, "serve_service", "arrival=poisson;load=100;stat=p99.9")));
    assert_true(scan_value(&scan, "serve_latency", "arrival=poisson;load=100;stat=p99") > 0);
    assert_non_null(scan_reason(&scan, "serve_latency", "arrival=poisson;load=100;stat=p99"));
    assert_true(scan_value(&scan, "serve_latency", "arrival=poisson;load=100;stat=max") > 0);
}

TEST(serve_advises_time_for_ten_requests_above)
{
    double rate = 1;
    for (int i = 0; i < 26; i++) {
        rate *= 1.7;
        double s = serve_seconds_for(SERVE_P999, rate);
        struct serve_times times = serve_times_of(s, 0.1);
        double n = rate * 1e-9 * (double)(times.span_ns - times.from_ns);
        assert_true(n * 0.001 > 9.99 && n * 0.001 < 25.1);
    }
}

/* A limit below all loads and one above all: the saturation is a bound, and the row says so. */
TEST(serve_saturation_beyond_the_loads_is_a_bound)
{
    static const struct {
        const char *limit, *why;
        double load;
    } cases[] = {{"limit=1us", "at most", 20}, {"limit=3600s", "at least", 100}};
    for (int i = 0; i < 2; i++) {
        const char *const pairs[] = {SMALL, "rate=1000", "arrival=poisson", cases[i].limit, NULL};
        ENDED_BY(scan_end) struct scan scan;
        scan_run(&scan, &bench_serve, &machine, pairs, 1);
        assert_true(scan_value(&scan, "serve_saturation", "arrival=poisson") == cases[i].load);
        const char *why = scan_reason(&scan, "serve_saturation", "arrival=poisson");
        assert_non_null(why);
        assert_has(why, cases[i].why);
    }
}

/* Load 100 means the rate of the closed loop, which the model's work limits. */
TEST(serve_measures_what_one_does_alone)
{
    static const char *const pairs[] = {SMALL, "arrival=poisson", "load=1000", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_serve, &machine, pairs, 1);
    double alone = scan_value(&scan, "serve_alone", "");
    assert_true(alone > 0 && alone < 10000); /* 100 us of the model's work */
    assert_true(fabs(scan_value(&scan, "serve_limit", "") * alone - 10000) < 1e-6);
    assert_true(scan_value(&scan, "serve_offered", "arrival=poisson;load=1000") > alone);
}

/* Bins of one load: 20 ms each of the 0.4 s that count. */
TEST(serve_tells_the_latest_of_each_bin)
{
    static const char *const pairs[] = {SMALL,      "rate=1000", "load=50", "arrival=bursts",
                                        "bin=20ms", "burst=2",   NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_serve, &machine, pairs, 0.75);
    double most_ms = scan_value(&scan, "serve_latency", "arrival=bursts;load=50;stat=max");
    double worst_ms = 0;
    size_t bins = 0;
    for (int at = 0; at < 400; at += 20) {
        char key[64];
        put_text(key, "arrival=bursts;load=50;at=%d", at);
        double ms = scan_value(&scan, "serve_worst", key);
        bins += isnan(ms) ? 0 : 1;
        worst_ms = fmax(worst_ms, ms);
    }
    assert_true(worst_ms == most_ms);
    assert_int_equal(scan_count(&scan, "serve_worst"), bins);
    assert_true(bins >= 10 && bins <= 20);
}

TEST(serve_refuses_more_requests_than_it_keeps)
{
    static const char *const pairs[] = {SMALL, "rate=1000000", "load=1000", "arrival=poisson",
                                        NULL};
    ENDED_BY(scan_end) struct scan scan;
    assert_int_equal(scan_try(&scan, &bench_serve, &machine, pairs, 1), -E2BIG);
    assert_has(scan.err.msg, "measure for less time");
}

/* mpirun may have started workers on another host, with another clock. */
TEST(serve_is_of_one_machine)
{
    struct scan scan;
    static const char *const pairs[] = {SMALL, NULL};
    assert_int_equal(scan_probe(&scan, &bench_serve, &machine, pairs), 0);
    struct peers peers = {.size = 1, .mpi = (const struct mpi_ops *)&machine};
    scan.ctx.peers = &peers;
    assert_int_equal(bench_serve.probe(&scan.ctx), -ENOTSUP);
    assert_has(scan.err.msg, "one machine");
}

/* Rows of bins are named by whole ms: two bins of one name would collide. */
TEST(serve_bins_have_names_of_their_own)
{
    double point_s = 1e-4;
    for (int i = 0; i < 53; i++) {
        point_s *= 1.3;
        struct serve_times times = serve_times_of(point_s, 0.1);
        assert_true(times.bin_ns >= 1000000);
        assert_true(times.nbins >= 1);
        assert_true((double)times.nbins * (double)times.bin_ns >=
                    (double)(times.span_ns - times.from_ns));
    }
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    machine.ncpus = machine.ncpus > 2 ? 2 : machine.ncpus;
    return 0;
}

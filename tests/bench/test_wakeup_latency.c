/* Threads that a timer wakes up, through the contract. */
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static struct bench_machine lonely;

static void expect_point(const struct scan *scan, const char *policy, const char *load)
{
    static const unsigned bounds_us[] = {1,   2,    5,    10,   20,    50,    100,   200,
                                         500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
    char key[64];
    double shares = 0, late[3];
    static const char *const stats[] = {"p50", "p99", "max"};
    for (size_t i = 0; i < 3; i++) {
        put_text(key, "policy=%s;load=%s;stat=%s", policy, load, stats[i]);
        late[i] = scan_value(scan, "wakeup_latency", key);
    }
    assert_true(late[0] > 0 && late[0] <= late[1] && late[1] <= late[2]);
    for (size_t i = 0; i < sizeof(bounds_us) / sizeof(bounds_us[0]); i++) {
        put_text(key, "policy=%s;load=%s;us=%u", policy, load, bounds_us[i]);
        shares += scan_value(scan, "wakeups", key);
    }
    assert_true(fabs(shares - 1) < 1e-9);
    put_text(key, "policy=%s;load=%s", policy, load);
    assert_true(scan_value(scan, "skipped", key) >= 0);
    assert_true(scan_value(scan, "skipped", key) < 1);
    double share = scan_value(scan, "late_share", key);
    double queued = scan_value(scan, "late_queued", key);
    assert_true(share >= 0 && share <= 1);
    assert_true(isnan(queued) || (share > 0 && queued >= 0 && queued <= 1));
}

static void expect_all(const struct bench_machine *on)
{
    static const char *const none[] = {NULL};
    ENDED_BY(scan_end) struct scan scan;
    bool fifo = scan_may_be_fifo();
    scan_run(&scan, &bench_wakeup_latency, on, none, 0.3);
    expect_point(&scan, "other", "idle");
    expect_point(&scan, "other", "busy");
    expect_point(&scan, "batch", "idle");
    expect_point(&scan, "batch", "busy");
    if (fifo) {
        expect_point(&scan, "fifo", "idle");
        expect_point(&scan, "fifo", "busy");
    } else {
        const char *why = scan_reason(&scan, "wakeup_latency", "policy=fifo;load=idle;stat=p50");
        assert_non_null(why);
        assert_has(why, "refuses");
        assert_int_equal(scan_count(&scan, "skipped"), 4);
    }
}

TEST(wakeups_on_all_cpus)
{
    expect_all(&machine);
}

TEST(wakeups_on_one_cpu)
{
    expect_all(&lonely);
}

/* At least one wake-up is later than a microsecond, and none is ten seconds late. */
TEST(wakeups_that_are_late)
{
    static const char *const all[] = {"policy=other", "load=idle", "late=1us", NULL};
    static const char *const nobody[] = {"policy=other", "load=idle", "late=10s", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_wakeup_latency, &machine, all, 0.1);
    assert_true(scan_value(&scan, "late_share", "policy=other;load=idle") > 0);
    scan_end(&scan);
    scan_run(&scan, &bench_wakeup_latency, &machine, nobody, 0.1);
    assert_true(scan_value(&scan, "late_share", "policy=other;load=idle") == 0);
    assert_int_equal(scan_count(&scan, "late_queued"), 0);
}

TEST(wakeups_of_one_kind)
{
    static const char *const pairs[] = {"policy=other", "load=idle", "interval=200us", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_wakeup_latency, &machine, pairs, 0.1);
    expect_point(&scan, "other", "idle");
    assert_int_equal(scan_count(&scan, "wakeup_latency"), 3);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    lonely = machine;
    lonely.ncpus = 1;
    return 0;
}

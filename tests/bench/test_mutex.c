/* Threads that contend for one lock, through the contract. That each lock excludes is what the scan
 * itself checks: a lost count fails it. */
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static const char *const locks[] = {"pthread", "adaptive", "pi", "spin", "sharded"};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]), HOLDS = 3 };

ON_THIS_MACHINE

static void expect_point(const struct scan *scan, const char *lock, unsigned threads)
{
    char key[64];
    put_text(key, "lock=%s;hold=1;threads=%u", lock, threads);
    double fairness = scan_value(scan, "lock_fairness", key);
    assert_true(scan_value(scan, "lock_rate", key) > 0);
    assert_true(scan_value(scan, "lock_wait_p99", key) > 0);
    if (threads == 1)
        assert_true(isnan(fairness));
    else
        assert_true(fairness > 0.999 / threads && fairness < 1 + 1e-9);
}

/* One CPU too: its two threads share it. */
TEST(mutex_by_threads)
{
    static const char *const none[] = {NULL};
    for (unsigned ncpus = 1; ncpus <= 2 && ncpus <= machine.ncpus; ncpus++) {
        ENDED_BY(scan_end) struct scan scan;
        struct bench_machine some = machine;
        unsigned counts = ncpus + 1; /* 1, 2 and 4 threads */
        some.ncpus = ncpus;
        scan_run(&scan, &bench_mutex, &some, none, 0.3);
        assert_int_equal(scan_count(&scan, "lock_rate"), LOCKS * HOLDS * counts);
        assert_int_equal(scan_count(&scan, "lock_fairness"), LOCKS * HOLDS * (counts - 1));
        assert_int_equal(scan_count(&scan, "lock_threads"), LOCKS * HOLDS);
        for (size_t i = 0; i < LOCKS; i++)
            for (unsigned n = 1; n <= 2 * ncpus; n *= 2)
                expect_point(&scan, locks[i], n);
    }
}

/* The fewest threads with 95% of the best rate, from the scan's own rates. */
TEST(mutex_least_threads)
{
    static const char *const one[] = {"lock=sharded", "hold=10", "outside=5", NULL};
    ENDED_BY(scan_end) struct scan scan;
    char key[64];
    double best = 0;
    scan_run(&scan, &bench_mutex, &machine, one, 0.1);
    double least = scan_value(&scan, "lock_threads", "lock=sharded;hold=10");
    for (unsigned n = 1; n <= 2 * machine.ncpus; n *= 2) {
        put_text(key, "lock=sharded;hold=10;threads=%u", n);
        double rate = scan_value(&scan, "lock_rate", key);
        best = fmax(best, isnan(rate) ? 0 : rate);
    }
    put_text(key, "lock=sharded;hold=10;threads=%.0f", least);
    assert_true(scan_value(&scan, "lock_rate", key) >= 0.95 * best);
}

/* Two threads never hold the lock at once: a thread holds it for 1 ms, so 1000 a second at most. */
TEST(mutex_holds_for_the_stated_time)
{
    static const char *const long_held[] = {"hold=1000", "threads=3", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_mutex, &machine, long_held, 0.2);
    assert_int_equal(scan_count(&scan, "lock_rate"), LOCKS);
    assert_int_equal(scan_count(&scan, "lock_threads"), 0);
    for (size_t i = 0; i < LOCKS; i++) {
        char key[64];
        put_text(key, "lock=%s;hold=1000;threads=3", locks[i]);
        double kops = scan_value(&scan, "lock_rate", key);
        assert_true(kops > 0 && kops < (i == LOCKS - 1 ? 4.5 : 1.5));
    }
}

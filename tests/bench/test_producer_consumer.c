/* A bounded queue between threads, through the contract. The scan itself fails if an item is lost
 * or comes twice. */
#include <sys/resource.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static const char *const hows[] = {"condvar", "eventfd", "ring"};
enum { HOWS = 3, PAIRS = 9, GRID = HOWS * 4 * 3 };

ON_THIS_MACHINE

static void expect_all(const struct scan *scan, double most_per_s)
{
    static const unsigned depths[] = {1, 4, 16, 64}, batches[] = {1, 4, 16};
    char key[64];
    for (size_t i = 0; i < GRID; i++) {
        unsigned depth = depths[i % 4], batch = batches[i / 4 % 3];
        put_text(key, "how=%s;batch=%u;depth=%u", hows[i / 12], batch, depth);
        if (batch > depth)
            continue;
        double rate = scan_value(scan, "item_rate", key);
        double p50 = scan_value(scan, "handover_p50", key);
        assert_true(rate > 0 && rate < most_per_s);
        assert_true(p50 > 0 && p50 <= scan_value(scan, "handover_p99", key));
    }
    assert_int_equal(scan_count(scan, "item_rate"), HOWS * PAIRS);
    assert_int_equal(scan_count(scan, "depth_needed"), HOWS * 3);
}

/* The feeder takes 20 us for an item: 50,000 a second at most. */
TEST(exchange_at_the_feeders_rate)
{
    static const char *const slow[] = {"feed=20", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_producer_consumer, &machine, slow, 0.6);
    expect_all(&scan, 1.5 * 50000);
}

/* All threads share one CPU, and wait for each other on it. */
TEST(exchange_of_many_on_one_cpu)
{
    static const char *const many[] = {"preparers=3", NULL};
    struct bench_machine lonely = machine;
    ENDED_BY(scan_end) struct scan scan;
    lonely.ncpus = 1;
    scan_run(&scan, &bench_producer_consumer, &lonely, many, 0.3);
    expect_all(&scan, 1.5e6);
}

/* Each of the queue's slots is used: the more, the longer an item lies behind those before it. */
TEST(exchange_fills_the_queue)
{
    static const char *const late[] = {"prepare=0", "feed=50", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_producer_consumer, &machine, late, 1.5);
    for (size_t i = 0; i < HOWS; i++) {
        char key[64];
        put_text(key, "how=%s;batch=1;depth=64", hows[i]);
        /* 63 items of 50 us are before the last of a full queue. */
        assert_true(scan_value(&scan, "handover_p99", key) > 0.6 * 63 * 50);
    }
}

TEST(exchange_depth_needed)
{
    static const char *const none[] = {NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_producer_consumer, &machine, none, 0.3);
    for (size_t i = 0; i < HOWS; i++) {
        char key[64];
        double best = 0, rates[4];
        static const unsigned depths[4] = {1, 4, 16, 64};
        for (size_t d = 0; d < 4; d++) {
            put_text(key, "how=%s;batch=1;depth=%u", hows[i], depths[d]);
            rates[d] = scan_value(&scan, "item_rate", key);
            best = rates[d] > best ? rates[d] : best;
        }
        put_text(key, "how=%s;batch=1", hows[i]);
        double needed = scan_value(&scan, "depth_needed", key);
        for (size_t d = 0; d < 4; d++)
            assert_true(depths[d] == needed ? rates[d] >= 0.95 * best
                                            : depths[d] > needed || rates[d] < 0.95 * best);
    }
}

TEST(exchange_without_an_eventfd)
{
    static const char *const none[] = {NULL};
    struct rlimit was, no_more = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
    no_more.rlim_max = was.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &no_more), 0);
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_producer_consumer, &machine, none, 0.1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
    assert_has(scan_reason(&scan, "item_rate", "how=eventfd;batch=4;depth=16"), "ulimit -n");
    assert_int_equal(scan_count(&scan, "handover_p50"), (HOWS - 1) * PAIRS);
}

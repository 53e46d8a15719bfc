/* A bounded buffer between threads, through the contract. */
#include <errno.h>
#include <math.h>

#include "bench/os/bounded.h"
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static struct bench_machine lonely;
static const char *const none[] = {NULL};

TEST(bounded_in_order)
{
    for (unsigned how = 0; how < BOUNDED_HOWS; how++) {
        struct bounded buffer;
        assert_int_equal(bounded_open(&buffer, (enum bounded_how)how, 3, NULL), 0);
        for (uint64_t turn = 0; turn < 5; turn++) {
            uint64_t first_ns = bounded_put(&buffer, 10 * turn + 1);
            uint64_t second_ns = bounded_put(&buffer, 10 * turn + 2);
            (void)bounded_put(&buffer, 10 * turn + 3);
            struct bounded_item item = bounded_get(&buffer);
            assert_int_equal(item.tag, 10 * turn + 1);
            assert_int_equal(item.put_ns, first_ns);
            assert_true(second_ns >= first_ns);
            assert_int_equal(bounded_get(&buffer).tag, 10 * turn + 2);
            assert_int_equal(bounded_get(&buffer).tag, 10 * turn + 3);
        }
        bounded_close(&buffer);
        bounded_close(&buffer);
    }
}

TEST(exchange_on_one_cpu)
{
    struct scan scan;
    scan_run(&scan, &bench_producer_consumer, &lonely, none, 0.2);
    /* By both kinds: 1x1 at three capacities, three other pairs of sides at one; four other places
     * for the sides, and a CPU for each thread, there are not. */
    assert_int_equal(scan_count(&scan, "item_sleeps"), 2 * (3 + 3));
    assert_int_equal(scan_count(&scan, "item_wait"), 2 * (3 + 3));
    assert_int_equal(scan_count(&scan, "item_wait_p99"), 2 * (3 + 3));
    static const char *const hows[] = {"condvar", "semaphore"};
    for (size_t i = 0; i < 2; i++) {
        char key[80];
        (void)snprintf(key, sizeof(key), "how=%s;sides=one;threads=4x4;capacity=16", hows[i]);
        assert_true(scan_value(&scan, "item_rate", key) > 0);
        (void)snprintf(key, sizeof(key), "how=%s;sides=one;threads=1x1;capacity=1", hows[i]);
        assert_true(scan_value(&scan, "item_wait", key) > 0);
        (void)snprintf(key, sizeof(key), "how=%s;sides=cache;threads=1x1;capacity=1", hows[i]);
        assert_non_null(strstr(scan_reason(&scan, "item_rate", key), "of the CPUs to use"));
        (void)snprintf(key, sizeof(key), "how=%s;sides=spread;threads=4x1;capacity=16", hows[i]);
        assert_string_equal(scan_reason(&scan, "item_rate", key),
                            "5 threads on a CPU each need more than 1 CPUs");
    }
    scan_end(&scan);
}

/* On one CPU, who gets the item of a buffer of one, or who puts the next, has to sleep before it.
 */
TEST(exchange_sleeps_for_each_item)
{
    static const char *const pairs[] = {"sides=one", "producers=1", "consumers=1", "capacity=1",
                                        NULL};
    static const char *const hows[] = {"condvar", "semaphore"};
    struct scan scan;
    scan_run(&scan, &bench_producer_consumer, &machine, pairs, 0.1);
    for (size_t i = 0; i < 2; i++) {
        char key[80];
        (void)snprintf(key, sizeof(key), "how=%s;sides=one;threads=1x1;capacity=1", hows[i]);
        assert_true(scan_value(&scan, "item_sleeps", key) > 0.9);
    }
    scan_end(&scan);
}

TEST(exchange_of_what_is_asked_for)
{
    static const char *const pairs[] = {"how=semaphore", "sides=cache", "producers=3",
                                        "consumers=2",   "capacity=5",  NULL};
    struct scan scan;
    if (machine.ncpus < 2)
        skip();
    scan_run(&scan, &bench_producer_consumer, &machine, pairs, 0.05);
    assert_int_equal(scan_count(&scan, "item_rate"), 1);
    assert_true(scan_value(&scan, "item_rate", "how=semaphore;sides=cache;threads=3x2;capacity=5") >
                0);
    scan_end(&scan);
}

TEST(exchange_refuses_two_spread)
{
    static const char *const pairs[] = {"sides=spread", "producers=1", "consumers=1", NULL};
    struct scan scan;
    (void)scan_probe(&scan, &bench_producer_consumer, &machine, pairs);
    assert_int_equal(bench_producer_consumer.validate(scan.params, &scan.err), -EINVAL);
    (void)scan_probe(&scan, &bench_producer_consumer, &machine, none);
    assert_int_equal(bench_producer_consumer.validate(scan.params, &scan.err), 0);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    lonely = machine;
    lonely.ncpus = 1;
    return 0;
}

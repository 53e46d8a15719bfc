/* Threads that contend for one lock, through the contract. */
#include <math.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static const char *const locks[] = {"normal", "adaptive", "spin", "ticket", "futex"};
enum { LOCKS = sizeof(locks) / sizeof(locks[0]) };

static struct bench_machine machine;

/* That each excludes the others is what its check says. */
TEST(mutex_by_threads)
{
    static const char *const none[] = {NULL};
    struct scan scan;
    unsigned counts = 2; /* all CPUs, and two a CPU */
    machine.ncpus = machine.ncpus > 4 ? 4 : machine.ncpus;
    for (unsigned n = 1; n < machine.ncpus; n *= 2)
        counts++;
    scan_run(&scan, &bench_mutex, &machine, none, 0.3);
    assert_int_equal(scan_count(&scan, "lock_rate"), LOCKS * counts);
    assert_int_equal(scan_count(&scan, "lock_fairness"), LOCKS * (counts - 1));
    for (size_t i = 0; i < LOCKS; i++) {
        char key[40];
        (void)snprintf(key, sizeof(key), "lock=%s;threads=1", locks[i]);
        assert_true(scan_value(&scan, "lock_rate", key) > 0);
        assert_true(isnan(scan_value(&scan, "lock_fairness", key)));
        for (unsigned n = machine.ncpus; n <= 2 * machine.ncpus; n += machine.ncpus) {
            (void)snprintf(key, sizeof(key), "lock=%s;threads=%u", locks[i], n);
            double fairness = scan_value(&scan, "lock_fairness", key);
            assert_true(n == 1 || (fairness > 0.999 / n && fairness < 1 + 1e-9));
        }
    }
    scan_end(&scan);
}

/* CPUs 0 and 1 share a core, 2 a cache with them, and 3 is on another node. */
TEST(mutex_of_two_by_how_near_they_are)
{
    static const char *const one[] = {"lock=ticket", NULL};
    static const char *const near[] = {"sibling", "cache", "remote"};
    struct bench_machine made = machine;
    struct scan scan;
    made.ncpus = 4;
    for (unsigned i = 0; i < made.ncpus; i++) {
        made.cpus[i] = machine.cpus[i % machine.ncpus];
        made.cpus[i].core = (int)i / 2;
        made.cpus[i].llc = made.cpus[i].os_node = i == 3;
        made.cpus[i].package = 0;
    }
    scan_run(&scan, &bench_mutex, &made, one, 0.1);
    for (size_t i = 0; i < 3; i++) {
        char key[40];
        (void)snprintf(key, sizeof(key), "lock=ticket;to=%s", near[i]);
        double fairness = scan_value(&scan, "pair_fairness", key);
        assert_true(scan_value(&scan, "pair_rate", key) > 0);
        assert_true(fairness > 0.999 / 2 && fairness < 1 + 1e-9);
    }
    assert_int_equal(scan_count(&scan, "pair_fairness"), 3);
    assert_non_null(strstr(scan_reason(&scan, "pair_rate", "to=node"), "another last-level cache"));
    scan_end(&scan);
}

/* More work inside, fewer acquisitions: others may hold up a slice, not each time. */
TEST(mutex_work_takes_its_time)
{
    static const char *const little[] = {"lock=futex", "inside=0", "outside=0", NULL};
    static const char *const much[] = {"lock=futex", "inside=2000", "outside=0", NULL};
    bool seen = false;
    for (int tries = 0; tries < PATIENCE && !seen; tries++) {
        struct scan scan;
        scan_run(&scan, &bench_mutex, &machine, little, 0.02);
        double fast = scan_value(&scan, "lock_rate", "lock=futex;threads=1");
        scan_end(&scan);
        scan_run(&scan, &bench_mutex, &machine, much, 0.02);
        double slow = scan_value(&scan, "lock_rate", "lock=futex;threads=1");
        scan_end(&scan);
        seen = fast > 5 * slow;
    }
    assert_true(seen);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

/* Shares of one CPU and a convoy on it, through the contract. */
#include <math.h>
#include <sys/resource.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;

/* True: they are in the order of the weights, which are three times apart each. Where others have
 * most of the CPU, the lightest may not have had its turn. */
static bool shares_are_in_order(const struct scan *scan)
{
    static const double weight[] = {1024, 335, 110};
    double share[3], error[3], sum = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    if (nice > 9) { /* no room for ten more */
        char key[32];
        (void)snprintf(key, sizeof(key), "nice=%d", nice);
        assert_non_null(scan_reason(scan, "share_error", key));
        return true;
    }
    for (int i = 0; i < 3; i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "nice=%d", nice + 5 * i);
        share[i] = scan_value(scan, "cpu_share", key);
        error[i] = scan_value(scan, "share_error", key);
        /* 1469 is the sum of what the kernel gives to 0, 5 and 10. */
        if (nice == 0)
            assert_true(fabs(share[i] * 1469 / weight[i] - 1 - error[i]) < 1e-9);
        sum += share[i];
    }
    assert_true(fabs(sum - 1) < 1e-9);
    return share[0] > share[1] && share[1] > share[2] && share[2] > 0;
}

/* Two long tasks of 20 ms begin at once, and short ones come every 5 ms: the first of a cycle waits
 * for both, less what has passed, on any machine. */
static void check_convoy(const struct scan *scan, const char *policy)
{
    char key[32];
    (void)snprintf(key, sizeof(key), "policy=%s;stat=max", policy);
    assert_true(scan_value(scan, "short_wait", key) > 20);
}

TEST(fairness)
{
    static const char *const pairs[] = {"long=20ms", "short=100us", "every=5ms", NULL};
    struct scan scan;
    scan_run(&scan, &bench_fairness, &machine, pairs, 2);
    for (int i = 0; !shares_are_in_order(&scan); i++) {
        assert_true(i < PATIENCE);
        scan_end(&scan);
        scan_run(&scan, &bench_fairness, &machine, pairs, 2);
    }
    double median_ms = scan_value(&scan, "short_wait", "policy=other;stat=p50");
    double most_ms = scan_value(&scan, "short_wait", "policy=other;stat=max");
    assert_true(median_ms > 0 && most_ms >= median_ms);
    if (scan_may_be_fifo()) {
        check_convoy(&scan, "fifo");
        check_convoy(&scan, "rr");
    } else
        assert_non_null(scan_reason(&scan, "short_wait", "policy=fifo;stat=p50"));
    scan_end(&scan);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

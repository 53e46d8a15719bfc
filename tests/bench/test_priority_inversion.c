/* Three priorities, a lock and one CPU, through the contract. */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

enum { BINS = 52 };

static struct bench_machine machine;

/* Milliseconds of CPU time that a role had, by the time line. */
static double time_of(const struct scan *scan, const char *protocol, const char *policy,
                      const char *role, double bin_ms)
{
    double sum = 0;
    for (int bin = 1; bin <= BINS; bin++) {
        char key[80];
        put_text(key, "protocol=%s;policy=%s;role=%s;ms=%.10g", protocol, policy, role,
                 bin * bin_ms);
        sum += scan_value(scan, "ran", key) * bin_ms;
    }
    return sum;
}

/* Without inheritance all of medium's CPU time is in the wait, on any machine. */
static bool inheritance_helps(void)
{
    static const char *const pairs[] = {"held=1ms", "burn=18.8ms", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_priority_inversion, &machine, pairs, 0.2);
    assert_int_equal(scan_count(&scan, "high_wait"), 6);
    assert_true(scan_value(&scan, "high_wait", "protocol=none;policy=fifo;stat=p50") > 18.8);
    double with = scan_value(&scan, "high_wait", "protocol=inherit;policy=fifo;stat=p50");
    assert_true(with > 0);
    for (int inherit = 0; inherit < 2; inherit++) {
        double medium_ms = time_of(&scan, inherit ? "inherit" : "none", "fifo", "medium", 0.5);
        assert_true(medium_ms > 0 && medium_ms < 20);
    }
    return with < 18.8 && scan_value(&scan, "inherit_gain", "policy=fifo") > 1;
}

TEST(inheritance_shortens_the_wait)
{
    bool helps = false;
    if (!scan_may_be_fifo())
        skip();
    for (int tries = 0; tries < PATIENCE && !helps; tries++)
        helps = inheritance_helps();
    assert_true(helps);
}

TEST(nice_levels_on_request)
{
    static const char *const pairs[] = {"policy=nice", NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_priority_inversion, &machine, pairs, 0.2);
    assert_true(scan_value(&scan, "high_wait", "protocol=none;policy=nice;stat=p50") >= 0);
    assert_true(scan_value(&scan, "inherit_gain", "policy=nice") > 0);
    assert_null(scan_reason(&scan, "inherit_gain", "policy=fifo"));
}

static void set_effective(bool nice)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    data[0].effective &= ~(1u << CAP_SYS_NICE);
    data[0].effective |= nice ? data[0].permitted & (1u << CAP_SYS_NICE) : 0;
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

/* Both protocols are then measured by nice levels, and a row says why. */
TEST(fifo_that_is_refused)
{
    static const char *const none[] = {NULL};
    ENDED_BY(scan_end) struct scan scan;
    set_effective(false);
    if (scan_may_be_fifo())
        skip();
    scan_run(&scan, &bench_priority_inversion, &machine, none, 0.2);
    const char *why = scan_reason(&scan, "inherit_gain", "policy=fifo");
    assert_non_null(why);
    assert_has(why, "CAP_SYS_NICE");
    assert_true(scan_value(&scan, "high_wait", "protocol=inherit;policy=nice;stat=max") >= 0);
    set_effective(true);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

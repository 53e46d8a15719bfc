/* Preprocessing under limits, if it may make cgroups: smaller limits give smaller rates. */
#include "bench/registry.h"
#include "harness/lib/sys/cgroup.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

enum { EXIT_SKIPPED = 77 };

static struct bench_machine machine;
static const char *const pairs[] = {"rows=256", "cols=64", "window=16", NULL};

static bool can_make_groups(void)
{
    struct groups groups;
    struct err err = {0};
    bool opened = !groups_open(&groups, &err);
    bool can = opened && !groups_enable(&groups, "cpu", &err);
    if (opened)
        groups_close(&groups);
    if (!can)
        print_message("SKIP: no cgroup can be made here: %s\n", err.msg);
    return can;
}

/* A quota holds in CPU time, which load on the machine can only reduce. */
TEST(limits_scan)
{
    ENDED_BY(scan_end) struct scan scan;
    char key[64];
    scan_run(&scan, &bench_cgroup, &machine, pairs, 1);
    for (unsigned i = 1; i <= 4; i *= 2) {
        double cpus = machine.ncpus * i / 4.0;
        put_text(key, "limit=cpu.max;cpus=%g;period=100;team=all", cpus);
        double used = scan_value(&scan, "cpus_used", key);
        assert_true(used > 0 && used < 1.7 * cpus + 0.1);
    }
    const char *no_pids = scan_reason(&scan, "limit_rate", "limit=pids.max");
    if (!strstr(no_pids, "no controller 'pids'")) {
        assert_true(scan_value(&scan, "limit_events", "limit=pids.max") >= 1);
        assert_has(no_pids, "pids.max of");
    }
}

/* The kernel's own counters of a group; the group is gone at the end. */
TEST(limits_group)
{
    struct groups groups;
    char dir[GROUPS_PATH_MAX], file[64];
    assert_int_equal(groups_open(&groups, NULL), 0);
    assert_int_equal(groups_enable(&groups, "cpu", NULL), 0);
    assert_int_equal(groups_make(&groups, 0, dir, sizeof(dir), NULL), 0);
    assert_int_equal(groups_set_quota(dir, 0.5, 10000, NULL), 0);
    assert_true(cgroup_read_counts("", dir).throttled_periods == 0);
    assert_int_equal(groups_set_quota(dir, 1e-3, 10000, NULL),
                     -EINVAL); /* less than the kernel's minimum of 1 ms */
    groups_remove_quota(dir);
    groups_close(&groups);
    assert_false(groups_get(dir, "cpu.stat", file, sizeof(file)));
}

BEFORE_TESTS
{
    if (!can_make_groups())
        return EXIT_SKIPPED;
    scan_machine_init(&machine);
    return 0;
}

/* Preprocessing under limits, where this process may make cgroups: who is given less has less. */
#include "bench/registry.h"
#include "harness/lib/sys/groups.h"
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
    bool can =
        opened && !groups_enable(&groups, "cpu", &err) && !groups_enable(&groups, "pids", &err);
    if (opened)
        groups_close(&groups);
    if (!can)
        print_message("SKIP: no cgroup can be made here: %s\n", err.msg);
    return can;
}

/* A quota is kept: by CPU time, which others on the machine can only make less. */
TEST(limits_scan)
{
    struct scan scan;
    char key[64];
    scan_run(&scan, &bench_cgroup, &machine, pairs, 1);
    for (unsigned i = 1; i <= 4; i *= 2) {
        double cpus = machine.ncpus * i / 4.0;
        (void)snprintf(key, sizeof(key), "limit=cpu.max;cpus=%g;period=100;team=all", cpus);
        double used = scan_value(&scan, "cpus_used", key);
        assert_true(used > 0 && used < 1.7 * cpus + 0.1);
    }
    assert_true(scan_value(&scan, "limit_events", "limit=pids.max") >= 1);
    assert_non_null(strstr(scan_reason(&scan, "limit_rate", "limit=pids.max"), "pids.max of"));
    scan_end(&scan);
    struct groups groups;
    struct err err = {0};
    assert_int_equal(groups_open(&groups, &err), 0);
    groups_close(&groups);
}

BEFORE_TESTS
{
    if (!can_make_groups())
        return EXIT_SKIPPED;
    scan_machine_init(&machine);
    return 0;
}

/*
 * Preprocessing in cgroups with limits: what is written for a quota, what is read of a cgroup, and
 * why none can be made. Where they can: test_limits_live.c.
 */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>

#include "bench/limits/limited.h"
#include "bench/registry.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static const char *const pairs[] = {"rows=256", "cols=64", "window=16", NULL};

TEST(limits_quota)
{
    char text[64];
    assert_string_equal(limited_quota(0.25, 100, text, sizeof(text)), "25000 100000");
    assert_string_equal(limited_quota(0.5, 10, text, sizeof(text)), "5000 10000");
    assert_string_equal(limited_quota(8, 100, text, sizeof(text)), "800000 100000");
}

TEST_IN_DIR(limits_reads_counts)
{
    fixture_put("/cpu.stat", "usage_usec 12\nnr_periods 40\nnr_throttled 7\nthrottled_usec 900\n");
    assert_true(groups_count(fixture_dir, "cpu.stat", "nr_throttled") == 7);
    assert_true(groups_count(fixture_dir, "cpu.stat", "throttled_usec") == 900);
    assert_true(isnan(groups_count(fixture_dir, "cpu.stat", "nr_bursts")));
    assert_true(isnan(groups_count(fixture_dir, "memory.stat", "anon")));
}

TEST_IN_DIR(limits_writes_where_it_can)
{
    struct err err = {0};
    char text[32];
    fixture_put("/cpu.max", "max 100000\n");
    assert_int_equal(groups_set(fixture_dir, "cpu.max", "50000 100000", &err), 0);
    assert_true(groups_get(fixture_dir, "cpu.max", text, sizeof(text)));
    assert_string_equal(text, "50000 100000");
    assert_int_equal(groups_set(fixture_dir, "memory.max", "1", &err), -ENOENT);
    assert_non_null(strstr(err.msg, "cgroup: memory.max = 1 refused"));
}

/* A child that cannot go on, here as it joins, is given up: it is no CPU time that says so. */
TEST_IN_DIR(limits_ends_what_stands_still)
{
    struct groups groups = {0};
    struct bench_ctx ctx = {.machine = &machine};
    struct limited limited = {.groups = &groups, .ctx = &ctx, .data_fd = -1};
    struct limited_result result;
    struct err err = {0};
    char path[GROUPS_PATH_MAX];
    (void)snprintf(groups.dir, sizeof(groups.dir), "%s", fixture_dir);
    assert_int_equal(groups_make(&groups, 0, path, sizeof(path), &err), 0);
    fixture_put("/worker-0/cpu.stat", "usage_usec 12\n");
    (void)snprintf(path, sizeof(path), "%s/worker-0/cgroup.procs", fixture_dir);
    assert_int_equal(mkfifo(path, 0600), 0); /* which nobody reads */
    assert_int_equal(limited_run(&limited, &result, &err), 0);
    assert_int_equal(result.end, LIMITED_STILL);
    assert_int_equal(result.why.code, -ETIME);
    assert_non_null(strstr(result.why.msg, "after 0 steps it used no CPU time for 10 s"));
}

/* With a reason, and nothing is left. */
TEST(limits_says_why_not)
{
    struct scan scan;
    struct groups groups;
    struct err err = {0};
    bool may = !groups_open(&groups, &err) && !groups_enable(&groups, "cpu", &err);
    groups_close(&groups);
    if (may)
        skip();
    int rc = scan_try(&scan, &bench_cgroup, &machine, pairs, 0.2);
    assert_true(rc == 0 || rc == -ENOTSUP); /* others than cpu may be ours */
    if (rc)
        assert_true(strlen(scan.err.msg) > 10);
    else
        assert_true(scan_count(&scan, "limit_rate") > 0);
    scan_end(&scan);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

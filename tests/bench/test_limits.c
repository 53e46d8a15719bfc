/*
 * Preprocessing in cgroups with limits: what is written for a quota and read back in either cgroup
 * version, and why no cgroup can be made. See test_limits_live.c for systems that allow cgroups.
 */
#include <sys/stat.h>

#include "bench/limits/limited.h"
#include "bench/registry.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/text.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE
static const char *const pairs[] = {"rows=256", "cols=64", "window=16", NULL};

static void check_file(const char *name, const char *expected)
{
    char text[64];
    assert_true(groups_get(fixture_dir, name, text, sizeof(text)));
    assert_string_equal(text, expected);
}

TEST_IN_DIR(limits_quota_v2)
{
    fixture_put("/cpu.max", "max 100000\n");
    assert_int_equal(groups_set_quota(fixture_dir, 0.25, 100000, NULL), 0);
    check_file("cpu.max", "25000 100000");
    assert_int_equal(groups_set_quota(fixture_dir, 8, 100000, NULL), 0);
    check_file("cpu.max", "800000 100000");
    fixture_put("/cpu.stat", "usage_usec 12\nnr_periods 40\nnr_throttled 7\nthrottled_usec 900\n");
    struct cgroup_counts quota = cgroup_read_counts("", fixture_dir);
    assert_true(quota.periods == 40 && quota.throttled_periods == 7);
    assert_true(fabs(quota.throttled_s - 900e-6) < 1e-12);
}

TEST_IN_DIR(limits_quota_v1)
{
    fixture_put("/cpu.cfs_quota_us", "-1");
    fixture_put("/cpu.cfs_period_us", "100000");
    assert_int_equal(groups_set_quota(fixture_dir, 1.5, 100000, NULL), 0);
    check_file("cpu.cfs_quota_us", "150000");
    check_file("cpu.cfs_period_us", "100000");
    fixture_put("/cpu.cfs_quota_us", "-1");
    groups_remove_quota(fixture_dir);
    check_file("cpu.cfs_quota_us", "-1");
    assert_true(isnan(cgroup_read_counts("", fixture_dir).throttled_s));
    fixture_put("/cpu.stat", "nr_periods 40\nnr_throttled 7\nthrottled_time 900\n");
    struct cgroup_counts quota = cgroup_read_counts("", fixture_dir);
    assert_true(quota.periods == 40 && quota.throttled_periods == 7);
    assert_true(fabs(quota.throttled_s - 900e-9) < 1e-15);
}

/* A kernel may accept a quota and keep another one. Here the plain file keeps old text, since
 * writing does not truncate it. */
TEST_IN_DIR(limits_quota_is_read_back)
{
    struct err err = {0};
    fixture_put("/cpu.cfs_quota_us", "2000000");
    fixture_put("/cpu.cfs_period_us", "100000");
    assert_int_equal(groups_set_quota(fixture_dir, 0.5, 100000, &err), -EINVAL);
    assert_has(err.msg, "a quota of 0.5 CPUs was asked for, and it has 50");
}

/* 100 is the default of version 2, 1024 that of version 1. */
TEST_IN_DIR(limits_weight_of_either_version)
{
    struct err err = {0};
    fixture_put("/cpu.weight", "100");
    assert_int_equal(groups_set_weight(fixture_dir, 250, NULL), 0);
    check_file("cpu.weight", "250");
    fixture_put("/cpu.weight", "10000");
    assert_int_equal(groups_set_weight(fixture_dir, 25, &err), -EINVAL); /* 25000 */
    assert_has(err.msg, "a weight of 25 was asked for");
    fixture_put("/cpu.shares", "1024");
    assert_int_equal(unlink(str_fmt("%s/cpu.weight", fixture_dir)), 0);
    assert_int_equal(groups_set_weight(fixture_dir, 250, NULL), 0);
    check_file("cpu.shares", "2560");
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
    assert_has(err.msg, "cgroup: memory.max = 1 refused");
}

/* A child that stands still, here as it joins, is ended because it uses no CPU time. */
TEST_IN_DIR(limits_ends_what_stands_still)
{
    struct groups groups = {0};
    struct bench_ctx ctx = {.machine = &machine};
    struct limited limited = {.groups = &groups, .ctx = &ctx};
    struct limited_result result;
    char path[GROUPS_PATH_MAX];
    put_text(groups.dir, "%s", fixture_dir);
    assert_int_equal(groups_make(&groups, 0, path, sizeof(path), NULL), 0);
    fixture_put("/worker-0/cpu.stat", "usage_usec 12\n");
    put_text(path, "%s/worker-0/cgroup.procs", fixture_dir);
    assert_int_equal(mkfifo(path, 0600), 0); /* without a reader */
    assert_int_equal(limited_run(&limited, &result, NULL), 0);
    assert_int_equal(result.end, LIMITED_STALLED);
    assert_int_equal(result.why.code, -ETIME);
    assert_has(result.why.msg, "after 0 steps it used no CPU time for 10 s");
}

/* A refusal has a reason, and nothing is left behind. */
TEST(limits_says_why_not)
{
    ENDED_BY(scan_end) struct scan scan;
    ENDED_BY(groups_close) struct groups groups;
    struct err err = {0};
    bool may = !groups_open(&groups, &err) && !groups_enable(&groups, "cpu", &err);
    if (may)
        skip();
    int rc = scan_try(&scan, &bench_cgroup, &machine, pairs, 0.2);
    assert_true(rc == 0 || rc == -ENOTSUP); /* controllers other than cpu may be available */
    if (rc)
        assert_true(strlen(scan.err.msg) > 10);
    else
        assert_true(scan_count(&scan, "limit_rate") > 0);
}

/* Memory that cgroups leave below their limits, on made-up files. test_env tests the limits. */
#include "harness/lib/sys/cgroup.h"

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

/* `groups` is the text of /proc/self/cgroup; NaN without a limit. */
static double available(const char *groups)
{
    struct cgroup_limits cgroup;
    fixture_put("/proc/self/cgroup", groups);
    cgroup_read(fixture_dir, &cgroup);
    return cgroup.memory_available_bytes;
}

static void put(const char *path, const char *text)
{
    char full[128];
    put_text(full, "/sys/fs/cgroup/%s", path);
    fixture_put(full, text);
}

TEST_IN_DIR(cgroup_v2_least_of_all_above)
{
    assert_true(isnan(available("0::/a/b\n")));
    put("a/b/memory.max", "max\n");
    put("a/b/memory.current", "1000\n");
    assert_true(isnan(available("0::/a/b\n")));
    put("a/memory.max", "5000\n");
    put("a/memory.current", "1200\n");
    assert_true(available("0::/a/b\n") == 3800);
    assert_true(available("0::/a\n") == 3800);
    put("a/b/memory.max", "1500\n");
    assert_true(available("0::/a/b\n") == 500);
    assert_true(available("0::/a\n") == 3800);
    /* In a cgroup namespace the files at the mount's root belong to this process's group. */
    put("memory.max", "900\n");
    put("memory.current", "800\n");
    assert_true(available("0::/\n") == 100);
    assert_true(available("0::/gone/away\n") == 100);
}

TEST_IN_DIR(cgroup_counts_file_pages_as_free)
{
    put("a/memory.max", "5000\n");
    put("a/memory.current", "4500\n");
    put("a/memory.stat", "anon 10\nactive_file 300\ninactive_file 2000\nslab 7\n");
    assert_true(available("0::/a\n") == 2500);
    put("a/memory.stat", "inactive_file 6000\n");
    assert_true(available("0::/a\n") == 5000);
    put("a/memory.stat", "inactive_file 0\n");
    put("a/memory.current", "7000\n"); /* above a limit that was lowered */
    assert_true(available("0::/a\n") == 0);
}

TEST_IN_DIR(cgroup_v1_and_both)
{
    const char *const v1 = "12:cpu,cpuacct:/job\n5:memory:/job\n1:name=systemd:/job\n";
    put("memory/job/memory.limit_in_bytes", "8000\n");
    put("memory/job/memory.usage_in_bytes", "3000\n");
    put("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    assert_true(available(v1) == 5500);
    put("job/memory.max", "100\n");
    put("job/memory.current", "0\n");
    assert_true(available(v1) == 5500);
    char both[128];
    put_text(both, "%s0::/job\n", v1);
    assert_true(available(both) == 100);
}

TEST_IN_DIR(cgroup_survives_odd_text)
{
    char longest[4096] = "0::/";
    memset(longest + 4, 'x', sizeof(longest) - 5);
    assert_true(isnan(available(longest)));
    const char *const odd[] = {"", "\n", "\n\n", "0::", "nonsense", ":::\n", "3:memory\n"};
    for (int i = 0; i < 7; i++)
        assert_true(isnan(available(odd[i])));
    put("memory.max", "lots\n");
    put("memory.current", "1\n");
    assert_true(isnan(available("0::/\n")));
}

/* Names of containers in pods are long, and often the last group has the limit. */
TEST_IN_DIR(cgroup_takes_a_long_path_whole)
{
    char deep[400] = "", file[450], groups[450];
    for (int i = 0; i < 6; i++)
        (void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%050d", i);
    put_text(groups, "0::%s\n", deep);
    put_text(file, "/sys/fs/cgroup%s/memory.max", deep);
    fixture_put(file, "900\n");
    put_text(file, "/sys/fs/cgroup%s/memory.current", deep);
    fixture_put(file, "200\n");
    assert_true(available(groups) == 700);
}

static struct cgroup_throttled throttled(const char *worker, const char *parent)
{
    struct cgroup_throttled throttled;
    fixture_put("/proc/9/cgroup", worker);
    fixture_put("/proc/4/cgroup", parent);
    cgroup_read_throttled(fixture_dir, "9", "4", &throttled);
    return throttled;
}

/* Throttling of the worker's own cgroup, and of ancestors with a quota that all workers share. */
TEST_IN_DIR(cgroup_throttled_is_told_apart_by_who_shares_it)
{
    struct cgroup_throttled none = throttled("0::/pod/contend-1/worker-0\n", "0::/pod\n");
    assert_true(isnan(none.own_s) && isnan(none.shared_s));
    put("cpu.stat",
        "usage_usec 1\nthrottled_usec 90000000\n"); /* without a quota the counter does not count */
    put("pod/cpu.max", "200000 100000\n");
    put("pod/cpu.stat", "usage_usec 7\nnr_throttled 2\nthrottled_usec 1500000\n");
    put("pod/contend-1/cpu.max", "max 100000\n");
    put("pod/contend-1/cpu.stat", "throttled_usec 0\n");
    struct cgroup_throttled shared = throttled("0::/pod/contend-1/worker-0\n", "0::/pod\n");
    assert_true(isnan(shared.own_s) && fabs(shared.shared_s - 1.5) < 1e-9);
    put("pod/contend-1/worker-0/cpu.max", "50000 100000\n");
    put("pod/contend-1/worker-0/cpu.stat", "throttled_usec 250000\n");
    struct cgroup_throttled both = throttled("0::/pod/contend-1/worker-0\n", "0::/pod\n");
    assert_true(fabs(both.own_s - 0.25) < 1e-9 && fabs(both.shared_s - 1.5) < 1e-9);
    /* A common prefix of names does not make one group an ancestor of the other. */
    struct cgroup_throttled beside = throttled("0::/pod\n", "0::/pod-2\n");
    assert_true(fabs(beside.own_s - 1.5) < 1e-9 && isnan(beside.shared_s));
}

TEST_IN_DIR(cgroup_throttled_of_version_1_is_in_ns)
{
    put("cpu/job/cpu.cfs_quota_us", "50000\n");
    put("cpu/job/cpu.cfs_period_us", "100000\n");
    put("cpu/job/cpu.stat", "nr_periods 5\nnr_throttled 5\nthrottled_time 334494899\n");
    struct cgroup_throttled seen = throttled("4:cpu,cpuacct:/job\n0::/\n", "4:cpu,cpuacct:/job\n");
    assert_true(isnan(seen.own_s) && fabs(seen.shared_s - 0.334494899) < 1e-9);
}

/* What memory cgroups leave of their limits, on made-up files. Limits are in test_env. */
#include "harness/sys/proc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/fixture_dir.h"

/* With `groups` as /proc/self/cgroup; NaN where nothing limits. */
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
    (void)snprintf(full, sizeof(full), "/sys/fs/cgroup/%s", path);
    fixture_put(full, text);
}

static void test_cgroup_v2_least_of_all_above(void **state)
{
    (void)state;
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
    /* In a namespace of cgroups the mount's own files are this group's. */
    put("memory.max", "900\n");
    put("memory.current", "800\n");
    assert_true(available("0::/\n") == 100);
    assert_true(available("0::/gone/away\n") == 100);
}

static void test_cgroup_counts_file_pages_as_free(void **state)
{
    (void)state;
    put("a/memory.max", "5000\n");
    put("a/memory.current", "4500\n");
    put("a/memory.stat", "anon 10\nactive_file 300\ninactive_file 2000\nslab 7\n");
    assert_true(available("0::/a\n") == 2500);
    put("a/memory.stat", "inactive_file 6000\n");
    assert_true(available("0::/a\n") == 5000);
    put("a/memory.stat", "inactive_file 0\n");
    put("a/memory.current", "7000\n"); /* over a limit that was lowered */
    assert_true(available("0::/a\n") == 0);
}

static void test_cgroup_v1_and_both(void **state)
{
    (void)state;
    const char *const v1 = "12:cpu,cpuacct:/job\n5:memory:/job\n1:name=systemd:/job\n";
    put("memory/job/memory.limit_in_bytes", "8000\n");
    put("memory/job/memory.usage_in_bytes", "3000\n");
    put("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    assert_true(available(v1) == 5500);
    put("job/memory.max", "100\n");
    put("job/memory.current", "0\n");
    assert_true(available(v1) == 5500);
    char both[128];
    (void)snprintf(both, sizeof(both), "%s0::/job\n", v1);
    assert_true(available(both) == 100);
}

static void test_cgroup_survives_odd_text(void **state)
{
    (void)state;
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

/* Names of containers in pods are long, and the limit is often on the last. */
static void test_cgroup_takes_a_long_path_whole(void **state)
{
    (void)state;
    char deep[400] = "", file[450], groups[450];
    for (int i = 0; i < 6; i++)
        (void)snprintf(deep + strlen(deep), sizeof(deep) - strlen(deep), "/%050d", i);
    (void)snprintf(groups, sizeof(groups), "0::%s\n", deep);
    (void)snprintf(file, sizeof(file), "/sys/fs/cgroup%s/memory.max", deep);
    fixture_put(file, "900\n");
    (void)snprintf(file, sizeof(file), "/sys/fs/cgroup%s/memory.current", deep);
    fixture_put(file, "200\n");
    assert_true(available(groups) == 700);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_make_dir, fixture_remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cgroup_v2_least_of_all_above),
        TEST(test_cgroup_counts_file_pages_as_free),
        TEST(test_cgroup_v1_and_both),
        TEST(test_cgroup_survives_odd_text),
        TEST(test_cgroup_takes_a_long_path_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

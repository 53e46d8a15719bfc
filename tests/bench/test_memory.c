/* What there is to take, from fake groups and the system's own; mappings; the caches' sizes. */
#include "bench/common/memory.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { MIB = 1 << 20, HUGE_BYTES = 2 << 20 };

/* A directory that stands for /sys/fs/cgroup. */
static char mount[] = "/tmp/contend-cgroup-XXXXXX";

static int make_mount(void **state)
{
    (void)state;
    strcpy(mount + sizeof(mount) - 7, "XXXXXX");
    return mkdtemp(mount) ? 0 : -1;
}

static int remove_mount(void **state)
{
    (void)state;
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -rf %s", mount);
    return system(command);
}

/* Writes mount/path and makes the directories above it. */
static void put(const char *path, const char *text)
{
    char full[256];
    (void)snprintf(full, sizeof(full), "%s/%s", mount, path);
    for (char *at = full + strlen(mount) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_memory_cgroup_v2_least_of_all_above(void **state)
{
    (void)state;
    assert_true(memory_cgroup_available_bytes("0::/a/b\n", mount) == UINT64_MAX);
    put("a/b/memory.max", "max\n");
    put("a/b/memory.current", "1000\n");
    assert_true(memory_cgroup_available_bytes("0::/a/b\n", mount) == UINT64_MAX);
    put("a/memory.max", "5000\n");
    put("a/memory.current", "1200\n");
    assert_int_equal(memory_cgroup_available_bytes("0::/a/b\n", mount), 3800);
    assert_int_equal(memory_cgroup_available_bytes("0::/a\n", mount), 3800);
    put("a/b/memory.max", "1500\n");
    assert_int_equal(memory_cgroup_available_bytes("0::/a/b\n", mount), 500);
    assert_int_equal(memory_cgroup_available_bytes("0::/a\n", mount), 3800);
    /* In a namespace of cgroups the mount's own files are this group's. */
    put("memory.max", "900\n");
    put("memory.current", "800\n");
    assert_int_equal(memory_cgroup_available_bytes("0::/\n", mount), 100);
    assert_int_equal(memory_cgroup_available_bytes("0::/gone/away\n", mount), 100);
}

static void test_memory_cgroup_counts_file_pages_as_free(void **state)
{
    (void)state;
    put("a/memory.max", "5000\n");
    put("a/memory.current", "4500\n");
    put("a/memory.stat", "anon 10\nactive_file 300\ninactive_file 2000\nslab 7\n");
    assert_int_equal(memory_cgroup_available_bytes("0::/a\n", mount), 2500);
    put("a/memory.stat", "inactive_file 6000\n");
    assert_int_equal(memory_cgroup_available_bytes("0::/a\n", mount), 5000);
    put("a/memory.stat", "inactive_file 0\n");
    put("a/memory.current", "7000\n"); /* over a limit that was lowered */
    assert_int_equal(memory_cgroup_available_bytes("0::/a\n", mount), 0);
}

static void test_memory_cgroup_v1_and_both(void **state)
{
    (void)state;
    const char *const v1 = "12:cpu,cpuacct:/job\n5:memory:/job\n1:name=systemd:/job\n";
    put("memory/job/memory.limit_in_bytes", "8000\n");
    put("memory/job/memory.usage_in_bytes", "3000\n");
    put("memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    assert_int_equal(memory_cgroup_available_bytes(v1, mount), 5500);
    put("job/memory.max", "100\n");
    put("job/memory.current", "0\n");
    assert_int_equal(memory_cgroup_available_bytes(v1, mount), 5500);
    char both[128];
    (void)snprintf(both, sizeof(both), "%s0::/job\n", v1);
    assert_int_equal(memory_cgroup_available_bytes(both, mount), 100);
}

static void test_memory_cgroup_survives_odd_text(void **state)
{
    (void)state;
    char longest[4096] = "0::/";
    memset(longest + 4, 'x', sizeof(longest) - 5);
    assert_true(memory_cgroup_available_bytes(longest, mount) == UINT64_MAX);
    const char *const odd[] = {"", "\n", "\n\n", "0::", "nonsense", ":::\n", "3:memory\n"};
    for (int i = 0; i < 7; i++)
        assert_true(memory_cgroup_available_bytes(odd[i], mount) == UINT64_MAX);
    put("memory.max", "lots\n");
    put("memory.current", "1\n");
    assert_true(memory_cgroup_available_bytes("0::/\n", mount) == UINT64_MAX);
}

static void test_memory_check_fits_names_both_figures(void **state)
{
    (void)state;
    struct err err = {0};
    assert_true(memory_available_bytes() > MIB);
    assert_int_equal(memory_check_fits(0, "a test", &err), 0);
    assert_int_equal(memory_check_fits(memory_available_bytes() / 2, "a test", &err), 0);
    assert_int_equal(memory_check_fits(UINT64_C(64) << 40, "a test", &err), -ENOTSUP);
    static const char needs[] = "a test needs 64 TiB of memory, but only 9/10 of ";
    assert_memory_equal(err.msg, needs, sizeof(needs) - 1);
    double have = 0;
    char unit[8] = "";
    assert_int_equal(sscanf(err.msg + sizeof(needs) - 1, "%lf %7s can be taken", &have, unit), 2);
    assert_true(have > 0);
    assert_non_null(strstr("KiB MiB GiB TiB", unit));
    /* Free memory moves, but not by a tenth of itself. */
    uint64_t close = memory_available_bytes();
    assert_int_equal(memory_check_fits(close + close / 8, "a test", &err), -ENOTSUP);
}

static void test_memory_map_is_aligned_and_whole(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, HUGE_BYTES, HUGE_BYTES + 1, 5 << 20};
    for (int pages = MEMORY_4K; pages <= MEMORY_THP; pages++)
        for (int i = 0; i < 4; i++) {
            struct err err = {0};
            struct memory_block block;
            assert_int_equal(memory_map(&block, sizes[i], (enum memory_pages)pages, &err), 0);
            assert_int_equal((uintptr_t)block.base % HUGE_BYTES, 0);
            assert_true(block.bytes >= sizes[i] && block.bytes < sizes[i] + HUGE_BYTES);
            assert_int_equal(block.bytes % HUGE_BYTES, 0);
            memset(block.base, 1, block.bytes);
            double share = memory_page_share(&block);
            assert_true(pages == MEMORY_4K ? share == 1 : share >= 0 && share <= 1);
            memory_unmap(&block);
            assert_null(block.base);
            memory_unmap(&block);
        }
}

static void test_memory_map_refuses(void **state)
{
    (void)state;
    for (int pages = 0; pages < MEMORY_PAGES; pages++) {
        struct err err = {0};
        struct memory_block block = {.base = &err, .bytes = 3};
        assert_int_equal(memory_map(&block, 0, (enum memory_pages)pages, &err), -EINVAL);
        block = (struct memory_block){.base = &err, .bytes = 3};
        assert_true(memory_map(&block, SIZE_MAX / 4, (enum memory_pages)pages, &err) < 0);
        assert_non_null(strstr(err.msg, pages == MEMORY_HUGETLB ? "pool" : "cannot map"));
        assert_null(block.base);
    }
}

/* Where the pool is empty a benchmark that wants it is skipped; elsewhere it is usable. */
static void test_memory_check_pages(void **state)
{
    (void)state;
    struct err err = {0};
    unsigned long pool = 0;
    FILE *file = fopen("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "r");
    if (file) {
        assert_int_equal(fscanf(file, "%lu", &pool), 1);
        (void)fclose(file);
    }
    assert_int_equal(memory_check_pages(MEMORY_4K, &err), 0);
    assert_int_equal(memory_check_pages(MEMORY_HUGETLB, &err), pool ? 0 : -ENOTSUP);
    assert_int_equal(memory_check_pages(MEMORY_HUGETLB, NULL), pool ? 0 : -ENOTSUP);
    if (!pool) {
        assert_int_equal(err.code, -ENOTSUP);
        assert_non_null(strstr(err.msg, "pool of 2 MiB pages"));
    }
}

static void test_memory_llc_counts_caches_once(void **state)
{
    (void)state;
    static struct bench_machine m;
    assert_int_equal(memory_llc_bytes(&m), 32 << 20); /* nobody says */
    m.ncpus = 4;
    m.ncaches = 2;
    m.caches[0] = (struct bench_cache){.level = 3, .size_bytes = 8 << 20};
    m.caches[1] = (struct bench_cache){.level = 2, .size_bytes = 1 << 20};
    assert_int_equal(memory_llc_bytes(&m), 8 << 20);
    m.cpus[1].llc = m.cpus[3].llc = 1;
    assert_int_equal(memory_llc_bytes(&m), 16 << 20);
    m.caches[0].size_bytes = 0;
    assert_int_equal(memory_llc_bytes(&m), 2 << 20);
}

static void test_memory_rounds_down(void **state)
{
    (void)state;
    assert_int_equal(memory_round_down(4095, 64), 4032);
    assert_int_equal(memory_round_down(4096, 64), 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_memory_cgroup_v2_least_of_all_above, make_mount,
                                        remove_mount),
        cmocka_unit_test_setup_teardown(test_memory_cgroup_counts_file_pages_as_free, make_mount,
                                        remove_mount),
        cmocka_unit_test_setup_teardown(test_memory_cgroup_v1_and_both, make_mount, remove_mount),
        cmocka_unit_test_setup_teardown(test_memory_cgroup_survives_odd_text, make_mount,
                                        remove_mount),
        cmocka_unit_test(test_memory_check_fits_names_both_figures),
        cmocka_unit_test(test_memory_map_is_aligned_and_whole),
        cmocka_unit_test(test_memory_map_refuses),
        cmocka_unit_test(test_memory_check_pages),
        cmocka_unit_test(test_memory_llc_counts_caches_once),
        cmocka_unit_test(test_memory_rounds_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

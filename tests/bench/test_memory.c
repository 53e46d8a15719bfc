/* Available memory, mappings, and the caches' sizes. */
#include "bench/common/memory.h"

#include <numaif.h>

#include "bench/common/memory_node.h"
#include "tests/lib/unit.h"

enum { MIB = 1 << 20, HUGE_BYTES = 2 << 20 };

TEST(memory_check_fits_names_both_figures)
{
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
    assert_has("KiB MiB GiB TiB", unit);
    /* Available memory changes, but by less than a tenth. */
    uint64_t close = memory_available_bytes();
    assert_int_equal(memory_check_fits(close + close / 8, "a test", &err), -ENOTSUP);
}

TEST(memory_map_is_aligned_and_whole)
{
    static const size_t sizes[] = {1, HUGE_BYTES, HUGE_BYTES + 1, 5 << 20};
    for (int pages = MEMORY_4K; pages <= MEMORY_THP; pages++)
        for (int i = 0; i < 4; i++) {
            struct memory_block block;
            assert_int_equal(memory_map(&block, sizes[i], (enum memory_pages)pages, NULL), 0);
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

TEST(memory_map_refuses)
{
    for (int pages = 0; pages < MEMORY_PAGES; pages++) {
        struct err err = {0};
        struct memory_block block = {.base = &err, .bytes = 3};
        assert_int_equal(memory_map(&block, 0, (enum memory_pages)pages, &err), -EINVAL);
        block = (struct memory_block){.base = &err, .bytes = 3};
        assert_true(memory_map(&block, SIZE_MAX / 4, (enum memory_pages)pages, &err) < 0);
        assert_has(err.msg, pages == MEMORY_HUGETLB ? "pool" : "cannot map");
        assert_null(block.base);
    }
}

/* With an empty pool a benchmark that needs it is skipped; otherwise the pool is usable. */
TEST(memory_check_pages)
{
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
        assert_has(err.msg, "pool of 2 MiB pages");
    }
}

TEST(memory_llc_counts_caches_once)
{
    static struct bench_machine m;
    assert_int_equal(memory_llc_bytes(&m), 32 << 20); /* the machine reports no caches */
    m.ncpus = 4;
    m.ncaches = 2;
    m.caches[0] = (struct bench_cache){.level = 3, .size_bytes = 8 << 20};
    m.caches[1] = (struct bench_cache){.level = 2, .size_bytes = 1 << 20};
    assert_int_equal(memory_llc_bytes(&m), 8 << 20);
    m.cpus[1].llc = m.cpus[3].llc = 1;
    assert_int_equal(memory_llc_bytes(&m), 16 << 20);
    assert_int_equal(memory_llc_reached(&m, NULL, 1), 8 << 20);
    assert_int_equal(memory_llc_reached(&m, NULL, 2), 16 << 20);
    assert_int_equal(memory_llc_reached(&m, (const unsigned[]){1, 3}, 2), 8 << 20);
    /* With two cache sizes it is unknown which CPU has which. An array counts as memory only if it
     * exceeds the larger. */
    m.ncaches = 3;
    m.caches[2] = (struct bench_cache){.level = 3, .size_bytes = 32 << 20};
    assert_int_equal(memory_llc_reached(&m, NULL, 1), 32 << 20);
    m.ncaches = 2;
    m.caches[0].size_bytes = 0;
    assert_int_equal(memory_llc_bytes(&m), 2 << 20);
}

TEST(memory_doubts_what_is_below_twice_the_caches)
{
    assert_string_equal(memory_doubt("arrays", 64 << 20, "L2", 32 << 20), "");
    assert_string_equal(memory_doubt("arrays", 48 << 20, "last-level caches", 32 << 20),
                        "arrays of 48 MiB below twice the 32 MiB of last-level caches: in part the "
                        "speed of caches");
}

/* The node of a memory policy, if it names one node; otherwise the node of the CPUs. */
TEST(memory_home_is_one_node)
{
    static struct bench_machine m;
    unsigned long node = 1;
    assert_int_equal(memory_node_home(&m), -1);
    m.ncpus = 2;
    assert_int_equal(memory_node_home(&m), 0);
    m.cpus[0].os_node = m.cpus[1].os_node = -1;
    assert_int_equal(memory_node_home(&m), -1);
    m.cpus[1].os_node = 1;
    assert_int_equal(memory_node_home(&m), -1);
    m.cpus[0].os_node = 1;
    assert_int_equal(memory_node_home(&m), 1);
    if (set_mempolicy(MPOL_BIND, &node, 8 * sizeof(node)))
        skip(); /* refused, as in containers */
    int bound = memory_node_home(&m);
    long rc = set_mempolicy(MPOL_INTERLEAVE, &node, 8 * sizeof(node));
    int spread = memory_node_home(&m);
    assert_int_equal(set_mempolicy(MPOL_DEFAULT, NULL, 0), 0);
    assert_int_equal(bound, 0);
    assert_int_equal(rc ? -1 : spread, -1);
}

TEST(memory_rounds_down)
{
    assert_int_equal(memory_round_down(4095, 64), 4032);
    assert_int_equal(memory_round_down(4096, 64), 4096);
}

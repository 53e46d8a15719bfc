/* Walks by counting, sizes of victims, and cache_thrash through the contract. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "bench/cpu/victim.h"
#include "bench/registry.h"
#include "kernels/cpu/walk.h"
#include "tests/lib/fixture_scan.h"

static struct bench_machine machine;

static void test_walk_stream_goes_round(void **state)
{
    (void)state;
    static _Alignas(64) struct walk_line area[10];
    struct walk walk = {.area = area, .lines = 10};
    walk_stream(&walk, 7);
    walk_stream(&walk, 16); /* 23 in all */
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(area[i].touched, i < 3 ? 3 : 2);
    assert_int_equal(walk_sum(&walk), 23);
    assert_int_equal(walk.touches, 23);
    walk_rest(&walk, 1000);
    assert_int_equal(walk_sum(&walk), 23);
}

static void test_walk_random_reaches_all_lines_evenly(void **state)
{
    (void)state;
    static _Alignas(64) struct walk_line area[100];
    struct walk walk = {.area = area, .lines = 100};
    walk_random(&walk, 4000);
    walk_random(&walk, 6000);
    assert_int_equal(walk_sum(&walk), 10000);
    for (size_t i = 0; i < 100; i++)
        assert_in_range(area[i].touched, 50, 150); /* 100 +- 5 standard deviations */
}

static uint64_t l3_victim(uint64_t l3_bytes, unsigned cpus, uint64_t l2_bytes)
{
    static struct bench_machine m;
    m = (struct bench_machine){.ncpus = 1, .ncaches = 2};
    m.caches[0] = (struct bench_cache){.level = 2, .size_bytes = l2_bytes, .cpus = 1};
    m.caches[1] = (struct bench_cache){.level = 3, .size_bytes = l3_bytes, .cpus = cpus};
    return victim_l3_bytes(&m);
}

static void test_victim_l3_size(void **state)
{
    (void)state;
    assert_int_equal(l3_victim(32 << 20, 8, 1 << 20), 4 << 20);   /* its share */
    assert_int_equal(l3_victim(480 << 20, 2, 2 << 20), 16 << 20); /* the host's: capped */
    assert_int_equal(l3_victim(11 << 20, 8, 1 << 20), 2 << 20);   /* not in the L2 */
    assert_int_equal(l3_victim(0, 1, 1 << 20), 0);
    assert_int_equal(l3_victim(32 << 20, 8, 0), 0);
}

static double slowdown_by_stream(const struct scan *scan, const char *victim)
{
    char key[64];
    (void)snprintf(key, sizeof(key), "victim=%s;aggressor=stream;where=same-llc;n=1", victim);
    return scan_value(scan, "victim_slowdown", key);
}

/*
 * A budget too small for anything still gives every cell its least number of pairs. Other tests
 * disturb: one in a few scans has to show a slowdown that a cache can cause.
 */
static void run(const char *victim, double budget_s)
{
    struct scan scan;
    char key[64];
    if (machine.ncpus < 2)
        skip();
    machine.ncpus = 2;
    machine.caches[2].size_bytes = 32 << 10;
    const char *const pairs[] = {victim, NULL}, *name = strchr(victim, '=') + 1;
    double slowdown = 0;
    scan_run(&scan, &bench_cache_thrash, &machine, pairs, budget_s);
    for (int tries = 1; slowdown = slowdown_by_stream(&scan, name), tries < 20; tries++) {
        if (slowdown > 0.2 && slowdown < 10)
            break;
        scan_end(&scan);
        scan_run(&scan, &bench_cache_thrash, &machine, pairs, budget_s);
    }
    assert_int_equal(scan_count(&scan, "victim_slowdown"), 3); /* l1, stream, random */
    assert_int_equal(scan_count(&scan, "victim_time"), 4);     /* and without */
    (void)snprintf(key, sizeof(key), "victim=%s;n=0", name);
    assert_true(scan_value(&scan, "victim_time", key) > 1e-6);
    assert_true(slowdown > 0.2 && slowdown < 10);
    assert_int_equal((int)scan_value(&scan, "aggressor_bytes", "aggressor=l1"), 16 << 10);
    assert_true(scan_value(&scan, "aggressor_bytes", "aggressor=stream") <= 64 << 20);
    scan_end(&scan);
}

static void test_cache_thrash_l2(void **state)
{
    (void)state;
    run("victim=l2", 0.1);
}

static void test_cache_thrash_l3(void **state)
{
    (void)state;
    run("victim=l3", 0.1);
}

static void test_cache_thrash_prep(void **state)
{
    (void)state;
    run("victim=prep", 0.1);
}

/* Two cores with siblings under one L3, one core under another, one in another node. */
static void test_cache_thrash_places(void **state)
{
    (void)state;
    struct scan scan;
    static struct bench_machine wide;
    static const struct bench_cpu places[] = {
        {.core = 0},           {.core = 0, .smt = 1}, {.core = 1},
        {.core = 1, .smt = 1}, {.core = 2, .llc = 1}, {.core = 3, .llc = 2, .os_node = 1}};
    if (machine.ncpus < 2)
        skip();
    wide = machine;
    wide.ncpus = 6;
    for (unsigned i = 0; i < 6; i++) {
        wide.cpus[i] = places[i];
        wide.cpus[i].os_cpu = machine.cpus[i > 0].os_cpu;
    }
    scan_run(&scan, &bench_cache_thrash, &wide,
             (const char *const[]){"aggressor=l1", "victim=l2", NULL}, 0.05);
    static const char *const where[] = {"smt", "same-llc", "other-llc", "other-node"};
    for (unsigned i = 0; i < 4; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "victim=l2;aggressor=l1;where=%s;n=1", where[i]);
        assert_true(scan_value(&scan, "victim_slowdown", key) > 0);
    }
    assert_int_equal(scan_count(&scan, "victim_slowdown"), 4);
    scan_end(&scan);
}

static void test_cache_thrash_refuses(void **state)
{
    (void)state;
    struct scan scan;
    static struct bench_machine poor;
    poor = machine;
    poor.ncpus = 1;
    const char *const l3[] = {"victim=l3", NULL}, *const prep[] = {"victim=prep", NULL};
    assert_int_equal(scan_probe(&scan, &bench_cache_thrash, &poor, l3), -ENOTSUP);
    poor.ncpus = 2;
    poor.ncaches = 0;
    assert_int_equal(scan_probe(&scan, &bench_cache_thrash, &poor, l3), -ENOTSUP);
    assert_int_equal(scan_probe(&scan, &bench_cache_thrash, &poor, prep), 0);
}

int main(void)
{
    scan_machine_init(&machine);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walk_stream_goes_round),
        cmocka_unit_test(test_walk_random_reaches_all_lines_evenly),
        cmocka_unit_test(test_victim_l3_size),
        cmocka_unit_test(test_cache_thrash_l2),
        cmocka_unit_test(test_cache_thrash_l3),
        cmocka_unit_test(test_cache_thrash_prep),
        cmocka_unit_test(test_cache_thrash_places),
        cmocka_unit_test(test_cache_thrash_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

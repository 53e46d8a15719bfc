/* Moves between CPUs, and which CPU is how near, through the contract. */
#include <errno.h>
#include <math.h>

#include "bench/os/cpu_pair.h"
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static const char *const none[] = {NULL};
static const char *const ways[] = {"sibling", "cache", "node", "remote"};

TEST(near_of_each_kind)
{
    static struct bench_machine built;
    built = (struct bench_machine){.ncpus = 6};
    built.cpus[0] = (struct bench_cpu){.os_cpu = 40};
    built.cpus[1] = (struct bench_cpu){.os_cpu = 41, .core = 3, .llc = 2, .package = 1};
    built.cpus[2] = (struct bench_cpu){.os_cpu = 42, .core = 2, .llc = 1};
    built.cpus[3] = (struct bench_cpu){.os_cpu = 43, .core = 1};
    built.cpus[4] = (struct bench_cpu){.os_cpu = 44, .core = 0};
    built.cpus[5] = (struct bench_cpu){.os_cpu = 45, .core = 0};
    static const unsigned found[NEARS] = {
        [NEAR_SIBLING] = 44, [NEAR_CACHE] = 43, [NEAR_NODE] = 42, [NEAR_REMOTE] = 41};
    for (unsigned near = 0; near < NEARS; near++) {
        unsigned place = 0;
        assert_int_equal(near_find(&built, (enum near)near, &place, NULL), 0);
        assert_int_equal(built.cpus[place].os_cpu, found[near]);
    }
    built.cpus[3].os_node = 1; /* of another node, under the same cache all the same */
    unsigned place = 0;
    assert_int_equal(near_find(&built, NEAR_CACHE, &place, NULL), -ENOTSUP);
}

/* Where the system has no such policy, all of `awake` is a reason. */
static void check_way(const struct scan *scan, const char *to, const char *cpus)
{
    char key[64];
    (void)snprintf(key, sizeof(key), "to=%s;cpus=%s", to, cpus);
    if (scan_reason(scan, "move_cost", key)) {
        assert_string_equal(cpus, "awake");
        return;
    }
    assert_true(isfinite(scan_value(scan, "move_cost", key)));
    for (unsigned i = 0; i < 4; i++) {
        static const char *const sizes[] = {"0", "16384", "262144", "4194304"};
        (void)snprintf(key, sizeof(key), "to=%s;cpus=%s;size=%s", to, cpus, sizes[i]);
        assert_true(scan_value(scan, "move_round_trip", key) > 0.05);
        assert_true(isfinite(scan_value(scan, "move_cache_cost", key)) == (i > 0));
    }
}

/* The second CPU is as near as we say: each kind of way has its rows, the others their reason. */
TEST(migration_by_distance)
{
    if (machine.ncpus < 2)
        skip();
    for (unsigned near = 0; near < NEARS; near++) {
        static struct bench_machine pair;
        struct scan scan;
        pair = machine;
        pair.ncpus = 2;
        pair.cpus[1].core = near == NEAR_SIBLING ? pair.cpus[0].core : pair.cpus[0].core + 1;
        pair.cpus[1].llc = near == NEAR_NODE ? pair.cpus[0].llc + 1 : pair.cpus[0].llc;
        pair.cpus[1].os_node =
            near == NEAR_REMOTE ? pair.cpus[0].os_node + 1 : pair.cpus[0].os_node;
        scan_run(&scan, &bench_migration, &pair, none, 0.1);
        check_way(&scan, ways[near], "idle");
        check_way(&scan, ways[near], "awake");
        for (unsigned other = 0; other < NEARS; other++) {
            char key[64];
            (void)snprintf(key, sizeof(key), "to=%s;cpus=idle", ways[other]);
            assert_int_equal(scan_reason(&scan, "move_cost", key) != NULL, other != near);
        }
        assert_true(scan_value(&scan, "move_call", "") > 0);
        scan_end(&scan);
    }
}

TEST(migration_with_one_cpu)
{
    static struct bench_machine lonely;
    struct scan scan;
    lonely = machine;
    lonely.ncpus = 1;
    scan_run(&scan, &bench_migration, &lonely, none, 0.05);
    assert_int_equal(scan_count(&scan, "move_round_trip"), 0);
    for (unsigned near = 0; near < NEARS; near++) {
        char key[64];
        (void)snprintf(key, sizeof(key), "to=%s;cpus=idle", ways[near]);
        assert_non_null(strstr(scan_reason(&scan, "move_cost", key), "of the CPUs to use"));
    }
    scan_end(&scan);
}

/* Others may hold up any of them, so not each time, and the working set's own time not in full. */
TEST(migration_sees_the_working_set)
{
    static const char *const pairs[] = {"to=cache", "cpus=idle", NULL};
    bool seen = false;
    if (machine.ncpus < 2)
        skip();
    for (int tries = 0; tries < PATIENCE && !seen; tries++) {
        struct scan scan;
        scan_run(&scan, &bench_migration, &machine, pairs, 0.1);
        double large = scan_value(&scan, "move_round_trip", "to=cache;cpus=idle;size=4194304");
        double bare = scan_value(&scan, "move_round_trip", "to=cache;cpus=idle;size=0");
        seen = large > bare + 0.25 * scan_value(&scan, "move_touch", "size=4194304");
        scan_end(&scan);
    }
    assert_true(seen);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

/* Starts of processes and threads, through the contract. */
#include <sys/wait.h>

#include "bench/os/spawn_ways.h"
#include "bench/registry.h"
#include "harness/lib/sys/file.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE
static const char *const ways[SPAWN_WAYS] = {"fork", "exec", "vfork", "spawn", "thread"};

static void assert_no_child(void)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

TEST(spawn_ways)
{
    char good[4096], bad[4096];
    assert_int_equal(file_find_program("true", true, good, sizeof(good)), 0);
    assert_int_equal(file_find_program("false", true, bad, sizeof(bad)), 0);
    for (unsigned way = 0; way < SPAWN_WAYS; way++) {
        assert_int_equal(spawn_once((enum spawn_way)way, good), 0);
        if (!spawn_runs_program((enum spawn_way)way))
            continue;
        assert_int_equal(spawn_once((enum spawn_way)way, bad), -ENOEXEC);
        assert_true(spawn_once((enum spawn_way)way, "/nobody/true") < 0);
    }
    assert_no_child();
}

TEST(spawn_of_a_small_parent)
{
    static const char *const small[] = {"size=0", NULL};
    struct scan scan;
    scan_run(&scan, &bench_spawn, &machine, small, 0.1);
    assert_int_equal(scan_count(&scan, "spawn_time"), SPAWN_WAYS);
    assert_int_equal(scan_count(&scan, "spawn_faults"), 2 * SPAWN_WAYS - 1);
    for (unsigned way = 0; way < SPAWN_WAYS; way++) {
        char key[64];
        put_text(key, "how=%s;mib=0;pages=4k", ways[way]);
        assert_true(scan_value(&scan, "spawn_time", key) > 0.5);
    }
    /* A child touches at least its own stack after it returns from the call. */
    assert_true(scan_value(&scan, "spawn_faults", "how=fork;by=child;mib=0;pages=4k") >= 1);
    scan_end(&scan);
    assert_no_child();
}

/* The fork copies page tables: 16,384 more entries. Load may delay either, but not every time. */
TEST(fork_of_a_large_parent)
{
    static const char *const small[] = {"how=fork", "size=0", NULL};
    static const char *const large[] = {"how=fork", "size=64M", "pages=4k", NULL};
    bool seen = false;
    for (int tries = 0; tries < PATIENCE && !seen; tries++) {
        struct scan scan;
        scan_run(&scan, &bench_spawn, &machine, small, 0.02);
        double small_us = scan_value(&scan, "spawn_time", "how=fork;mib=0;pages=4k");
        scan_end(&scan);
        scan_run(&scan, &bench_spawn, &machine, large, 0.02);
        seen = scan_reason(&scan, "spawn_time", "mib=64;pages=4k") ||
               scan_value(&scan, "spawn_time", "how=fork;mib=64;pages=4k") > 1.2 * small_us;
        scan_end(&scan);
    }
    assert_true(seen);
}

TEST(spawn_without_a_program)
{
    static const char *const small[] = {"size=0", NULL};
    ENDED_BY(scan_end) struct scan scan;
    const char *before = getenv("PATH");
    char path[4096];
    put_text(path, "%s", before ? before : "");
    assert_int_equal(setenv("PATH", "/nobody", 1), 0);
    scan_run(&scan, &bench_spawn, &machine, small, 0.05);
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_string_equal(scan_reason(&scan, "spawn_time", "how=vfork;mib=0;pages=4k"),
                        "PATH has no program 'true' to start");
    assert_true(scan_value(&scan, "spawn_time", "how=fork;mib=0;pages=4k") > 0);
}

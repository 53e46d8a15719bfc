/* A Python thread that launches beside one that unmaps memory, with and without its lock. */
#include <sys/stat.h>

#include "bench/loader/python.h"
#include "bench/registry.h"
#include "tests/lib/fixture_dir.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE

/* The longest gap divided by the median time of munmap; NaN without values. */
static double longest_gap(const char *unmap)
{
    struct scan scan;
    scan_run(&scan, &bench_interpreter_lock, &machine,
             (const char *const[]){unmap, "size=16M", NULL}, 0.3);
    double p99 = scan_value(&scan, "launch_gap_p99", ""),
           most = scan_value(&scan, "launch_gap_max", "");
    double unmap_time = scan_value(&scan, "unmap_time", "");
    double launches = scan_value(&scan, "launches", "");
    scan_end(&scan);
    assert_true(launches > 0 && launches < 1000); /* launches are a millisecond apart */
    assert_true(p99 > 1 && p99 <= most);
    return most / unmap_time;
}

static bool can_run(void)
{
    struct python python;
    return machine.ncpus >= 2 && !python_find("python3", &python, NULL) && python.has_lock;
}

/* No launch happens while the lock is held, so a gap lasts at least as long as its munmap. */
TEST(interpreter_lock_held)
{
    if (!can_run())
        skip();
    double longest = 0;
    for (int tries = 0; tries < PATIENCE && !(longest >= 1); tries++)
        longest = longest_gap("unmap=held");
    assert_true(longest >= 1);
}

TEST(interpreter_lock_released_or_without_unmaps)
{
    if (!can_run())
        skip();
    assert_true(longest_gap("unmap=released") > 0);
    assert_true(isnan(longest_gap("unmap=none")));
}

/* Launches for each save. */
static double launches_of_save(const char *save)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_interpreter_lock, &machine,
             (const char *const[]){"unmap=none", save, NULL}, 0.4);
    return scan_value(&scan, "launches", "") / scan_value(&scan, "saves", "");
}

/* A thread that saves lets about one launch pass between two saves; a process lets all pass. */
TEST(interpreter_lock_held_by_a_save)
{
    if (!can_run())
        skip();
    double by_thread = launches_of_save("save=thread"), by_process = 0;
    for (int tries = 0; tries < PATIENCE && !(by_process > 2 * by_thread); tries++)
        by_process = launches_of_save("save=process");
    assert_true(by_thread > 0 && by_process > 2 * by_thread);
}

/* `python` is the script that PATH has as python3; NULL: none. It is refused so. */
static void expect_refused(const char *python, int code, const char *why)
{
    ENDED_BY(scan_end) struct scan scan;
    const char *found = getenv("PATH");
    char path[600], *before = strdup(found ? found : "");
    put_text(path, "%s/bin/python3", fixture_dir);
    fixture_put("/bin/none", "");
    if (python) {
        fixture_put("/bin/python3", python);
        assert_int_equal(chmod(path, 0755), 0);
    }
    *strrchr(path, '/') = '\0';
    assert_int_equal(setenv("PATH", path, 1), 0);
    assert_int_equal(scan_try(&scan, &bench_interpreter_lock, &machine,
                              (const char *const[]){"size=1M", NULL}, 0.1),
                     code);
    assert_int_equal(setenv("PATH", before, 1), 0);
    free(before);
    assert_has(scan.err.msg, why);
}

TEST_IN_DIR(interpreter_lock_without_a_python_that_works)
{
    if (machine.ncpus < 2)
        skip();
    expect_refused(NULL, -ENOTSUP, "no python3 in PATH");
    expect_refused("#!/bin/sh\n[ $1 = -c ] && echo \"$0\" && echo 0 && echo 0\n", -ENOTSUP,
                   "no interpreter's lock");
    expect_refused("#!/bin/sh\n[ $1 = -c ] && echo \"$0\" && echo 1 && echo 0\n", -EIO,
                   "/bin/python3 failed");
    expect_refused("#!/bin/sh\n[ $1 = -c ] && echo \"$0\" && echo 1 && echo 0 || echo 5 ms\n", -EIO,
                   "python3 says '5 ms\n' of its launches");
}

TEST(interpreter_lock_without_room)
{
    ENDED_BY(scan_end) struct scan scan;
    struct bench_machine one_cpu = machine;
    one_cpu.ncpus = 1;
    assert_int_equal(
        scan_try(&scan, &bench_interpreter_lock, &one_cpu, (const char *const[]){NULL}, 0.1),
        -ENOTSUP);
    assert_string_equal(scan.err.msg, "two threads need two CPUs; the worker has one");
}

/* Ping-pong between threads and processes, through the contract. */
#include <signal.h>

#include "bench/os/context_switch.h"
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static struct bench_machine lonely;
static const char *const none[] = {NULL};

TEST(switch_on_one_cpu)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_context_switch, &lonely, none, 0.2);
    /* pipe and futex on one CPU and on two, yield on one: by threads and processes, four sizes. */
    assert_int_equal(scan_count(&scan, "round_trip"), (2 * 2 + 1) * 2 * 4);
    assert_int_equal(scan_count(&scan, "direct_cost"), 3 * 2);
    assert_int_equal(scan_count(&scan, "cache_cost"), 3 * 2 * 3);
    assert_int_equal(scan_count(&scan, "yields"), 2 * 4);
    assert_int_equal(scan_count(&scan, "calls"), 3);
    assert_true(scan_value(&scan, "touch", "size=4194304") > 0);
    assert_true(scan_value(&scan, "yields", "how=yield;between=threads;cpus=one;size=0") >= 1);
    static const char *const hows[] = {"pipe", "futex", "yield"};
    for (size_t i = 0; i < 3; i++) {
        char key[80];
        put_text(key, "how=%s;between=processes;cpus=one;size=0", hows[i]);
        assert_true(scan_value(&scan, "round_trip", key) > 0.05);
    }
    assert_string_equal(
        scan_reason(&scan, "round_trip", "how=pipe;between=threads;cpus=two;size=0"),
        "there is only one CPU to use");
}

/* Load on the machine may delay any of these, but not every time. */
TEST(switch_sees_the_working_set)
{
    static const char *const pairs[] = {"how=pipe", "between=threads", "cpus=one", NULL};
    bool seen = false;
    for (int tries = 0; tries < PATIENCE && !seen; tries++) {
        ENDED_BY(scan_end) struct scan scan;
        scan_run(&scan, &bench_context_switch, &machine, pairs, 0.1);
        assert_int_equal(scan_count(&scan, "round_trip"), 4);
        double large =
            scan_value(&scan, "round_trip", "how=pipe;between=threads;cpus=one;size=4194304");
        double bare = scan_value(&scan, "round_trip", "how=pipe;between=threads;cpus=one;size=0");
        double touch = scan_value(&scan, "touch", "size=4194304");
        seen = large > bare + touch;
    }
    assert_true(seen);
}

TEST(switch_across_cpus)
{
    static const char *const pairs[] = {"cpus=two", "size=16K", NULL};
    ENDED_BY(scan_end) struct scan scan;
    if (machine.ncpus < 2)
        skip();
    scan_run(&scan, &bench_context_switch, &machine, pairs, 0.1);
    assert_int_equal(scan_count(&scan, "round_trip"), 4);
    assert_true(scan_value(&scan, "round_trip", "how=futex;between=processes;cpus=two;size=16384") >
                0.05);
    assert_int_equal(scan_count(&scan, "direct_cost"), 0);
    assert_int_equal(scan_count(&scan, "cache_cost"), 0);
}

TEST(switch_refuses_yields_across_cpus)
{
    static const char *const pairs[] = {"cpus=two", "how=yield", NULL};
    struct scan scan;
    (void)scan_probe(&scan, &bench_context_switch, &machine, pairs);
    assert_int_equal(bench_context_switch.validate(scan.params, &scan.err), -EINVAL);
    (void)scan_probe(&scan, &bench_context_switch, &machine, none);
    assert_int_equal(bench_context_switch.validate(scan.params, &scan.err), 0);
}

static void never(void *arg, unsigned who)
{
    (void)who;
    *(bool *)arg = true;
}

/* Without its CPU neither side runs, and neither waits for the other. */
TEST(cpu_pair_without_its_cpu)
{
    for (int processes = 0; processes < 2; processes++)
        for (unsigned who = 0; who < 2; who++) {
            bool played = false;
            struct err err = {0};
            struct cpu_pair cpu_pair = {.processes = processes, .run = never, .arg = &played};
            cpu_pair.os_cpus[who] = BITSET_BITS - 1;
            cpu_pair.os_cpus[1 - who] = machine.cpus[0].os_cpu;
            assert_int_equal(cpu_pair_run(&cpu_pair, &err), -ENOTSUP);
            assert_int_equal(err.code, -ENOTSUP);
            assert_has(err.msg, "cannot run on CPU");
            assert_false(played);
        }
}

static void die_alone(void *arg, unsigned who)
{
    if (who == 1)
        (void)raise(SIGKILL);
    for (;;)
        (void)pause();
}

TEST(cpu_pair_ends_who_would_wait_for_ever)
{
    struct err err = {0};
    struct cpu_pair cpu_pair = {.processes = true, .run = die_alone};
    cpu_pair.os_cpus[0] = cpu_pair.os_cpus[1] = machine.cpus[0].os_cpu;
    assert_int_equal(cpu_pair_run(&cpu_pair, &err), -EIO);
    assert_has(err.msg, "signal");
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    lonely = machine;
    lonely.ncpus = 1;
    return 0;
}

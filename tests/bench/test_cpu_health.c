/* The scans of each CPU alone, through the contract. */
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;

static int find_machine(void **state)
{
    scan_machine_init(&machine);
    return 0;
}

static double value_of(const struct scan *scan, const char *metric, unsigned cpu, const char *more)
{
    char key[64];
    put_text(key, "cpu=%u%s", machine.cpus[cpu].os_cpu, more);
    return scan_value(scan, metric, key);
}

TEST(cpu_speed_of_every_cpu)
{
    static const char *const none[] = {NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_cpu_speed, &machine, none, 0.05);
    assert_int_equal(scan_count(&scan, "cpu_rate"), machine.ncpus);
    assert_int_equal(scan_count(&scan, "cpu_copy"), machine.ncpus);
    for (unsigned i = 0; i < machine.ncpus; i++) {
        assert_true(value_of(&scan, "cpu_rate", i, "") > 0);
        assert_true(value_of(&scan, "cpu_copy", i, "") > 0);
    }
}

/* Both states are measured, and their difference is what it is. */
TEST(idle_exit_of_every_cpu)
{
    static const char *const none[] = {NULL};
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_idle_exit, &machine, none, 0.2);
    assert_int_equal(scan_count(&scan, "idle_exit"), machine.ncpus);
    for (unsigned i = 0; i < machine.ncpus; i++) {
        double idle = value_of(&scan, "wakeup_late", i, ";state=idle");
        double busy = value_of(&scan, "wakeup_late", i, ";state=busy");
        assert_true(idle >= 0 && busy >= 0);
        assert_true(value_of(&scan, "idle_exit", i, "") == idle - busy);
    }
}

AROUND_TESTS(find_machine, NULL)

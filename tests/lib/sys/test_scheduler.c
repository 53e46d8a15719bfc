/* Which scheduler is active, on made-up files of /proc and /sys. */
#include "harness/lib/sys/affinity.h"

#include "tests/lib/fixture_dir.h"
#include "tests/lib/unit.h"

static void expect(const char *want)
{
    char got[128];
    assert_string_equal(scheduler_read(fixture_dir, got, sizeof(got)), want);
}

TEST_IN_DIR(scheduler_is_unknown_where_nothing_shows)
{
    expect("");
    fixture_put("/proc/version", "Linux version 4.4.0\n");
    fixture_put("/proc/kallsyms", "0000000000000000 T schedule\n");
    expect("");
}

TEST_IN_DIR(scheduler_is_told_by_symbols)
{
    fixture_put("/proc/kallsyms", "0000000000000000 t task_tick_fair\n0000 T schedule\n");
    expect("CFS");
    fixture_put("/proc/kallsyms", "0000000000000000 t task_tick_fair\n"
                                  "0000000000000000 t avg_vruntime_add\n");
    expect("CFS");
    fixture_put("/proc/kallsyms", "0000000000000000 t task_tick_fair\n"
                                  "0000000000000000 T avg_vruntime\t[a_module]\n");
    expect("EEVDF");
}

TEST_IN_DIR(scheduler_is_told_by_slices)
{
    fixture_put("/proc/self/sched", "a (1, #threads: 1)\n---\nse.slice      :     2800000\n");
    expect("EEVDF");
    fixture_put("/proc/sys/kernel/sched_bore", "0\n");
    expect("EEVDF");
    fixture_put("/proc/sys/kernel/sched_bore", "1\n");
    expect("EEVDF with BORE");
}

TEST_IN_DIR(scheduler_of_a_user)
{
    fixture_put("/proc/self/sched", "se.slice      :     2800000\n");
    fixture_put("/sys/kernel/sched_ext/state", "disabled\n");
    expect("EEVDF");
    fixture_put("/sys/kernel/sched_ext/state", "enabled\n");
    expect("sched_ext: unknown");
    fixture_put("/sys/kernel/sched_ext/root/ops", "lavd_1.0\n");
    expect("sched_ext: lavd_1.0");
    fixture_put("/sys/kernel/sched_ext/switch_all", "1\n");
    expect("sched_ext: lavd_1.0");
    fixture_put("/sys/kernel/sched_ext/switch_all", "0\n");
    expect("EEVDF, and sched_ext: lavd_1.0 for some");
}

/* Three priorities, a lock and one CPU, through the contract. */
#include <math.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;

/* The low one has 1 ms of work, the middle one 20 ms; a stolen CPU makes any wait longer. */
static bool inheritance_helps(void)
{
    static const char *const pairs[] = {"held=1ms", "kept=20ms", NULL};
    struct scan scan;
    scan_run(&scan, &bench_priority_inversion, &machine, pairs, 0.2);
    assert_int_equal(scan_count(&scan, "high_wait"), 4);
    double without = scan_value(&scan, "high_wait", "protocol=none;policy=fifo;stat=p50");
    double with = scan_value(&scan, "high_wait", "protocol=inherit;policy=fifo;stat=p50");
    assert_true(with > 0);
    /* Without, all of the middle one's CPU time is in the wait, on any machine. */
    assert_true(without > 20);
    assert_true(scan_value(&scan, "bounded", "protocol=none;policy=fifo") < 1e-9);
    bool helps = with < 20 && scan_value(&scan, "bounded", "protocol=inherit;policy=fifo") > 0.5;
    scan_end(&scan);
    return helps;
}

TEST(inheritance_bounds_the_wait)
{
    bool helps = false;
    if (!scan_may_be_fifo())
        skip();
    for (int tries = 0; tries < PATIENCE && !helps; tries++)
        helps = inheritance_helps();
    assert_true(helps);
}

TEST(inversion_by_nice_levels)
{
    static const char *const none[] = {NULL};
    struct scan scan;
    if (scan_may_be_fifo())
        skip();
    scan_run(&scan, &bench_priority_inversion, &machine, none, 0.2);
    const char *why = scan_reason(&scan, "high_wait", "protocol=none;policy=fifo;stat=p50");
    assert_non_null(why);
    assert_non_null(strstr(why, "nice levels"));
    assert_true(scan_value(&scan, "high_wait", "protocol=none;policy=nice;stat=max") >= 0);
    assert_true(scan_value(&scan, "bounded", "protocol=inherit;policy=nice") >= 0);
    scan_end(&scan);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

/* Two processes that share a CPU by weight, through the contract. */
#include <sys/resource.h>

#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

enum { PAIRS = 5 };

static const char *const none[] = {NULL};
static struct bench_machine machine;

/* "nice", the kind of weight that cgroups have here, or NULL: none can be made. */
static const char *find_by(const struct scan *scan, bool nice)
{
    static const char *const kinds[] = {"cpu.weight", "cpu.shares"};
    for (unsigned i = 0; i < 2 && !nice; i++) {
        char key[64];
        put_text(key, "by=%s;pair=1024:820", kinds[i]);
        if (!isnan(scan_value(scan, "promised", key)))
            return kinds[i];
    }
    return nice ? "nice" : NULL;
}

/* True: the heavier got the more, the lighter the other. A busy machine may turn close ones round.
 */
static bool shares_are_in_order(const struct scan *scan, const char *by)
{
    static const int lighter[PAIRS] = {820, 526, 335, 110, 15};
    static const int windows[] = {1, 10, 100};
    double before = 50;
    bool in_order = true;
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        char key[64];
        put_text(key, "by=%s;pair=1024:%d", by, lighter[pair]);
        double share = scan_value(scan, "cpu_share", key);
        assert_true(fabs(scan_value(scan, "promised", key) - 102400.0 / (1024 + lighter[pair])) <
                    1e-9);
        in_order = in_order && share > before && share <= 100;
        before = share;
        for (unsigned i = 0; i < 3; i++) {
            put_text(key, "by=%s;pair=1024:%d;window=%d", by, lighter[pair], windows[i]);
            double error = scan_value(scan, "share_error", key);
            assert_true(isnan(error) || (error >= 0 && error <= 100));
        }
    }
    return in_order;
}

static bool both_are_in_order(void)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_fairness, &machine, none, 3);
    const char *by = find_by(&scan, false);
    if (!by)
        assert_true(scan_has_reason("cgroup"));
    return shares_are_in_order(&scan, "nice") && (!by || shares_are_in_order(&scan, by));
}

TEST(shares_follow_weights)
{
    bool in_order = false;
    if (getpriority(PRIO_PROCESS, 0))
        skip();
    for (int tries = 0; tries < PATIENCE && !in_order; tries++)
        in_order = both_are_in_order();
    assert_true(in_order);
}

/* The last test: without privileges the level cannot be lowered again. */
TEST(no_nice_level_below_our_own)
{
    ENDED_BY(scan_end) struct scan scan;
    if (setpriority(PRIO_PROCESS, 0, 5))
        skip();
    scan_run(&scan, &bench_fairness, &machine, none, 0.1);
    const char *why = scan_reason(&scan, "share_error", "by=nice;pair=1024:820");
    assert_non_null(why);
    assert_has(why, "nice 5");
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

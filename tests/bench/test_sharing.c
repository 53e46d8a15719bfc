/* Counters under false sharing: the kernel by counting, the scan through the contract. */
#include "bench/registry.h"
#include "kernels/cpu/share.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

ON_THIS_MACHINE
static const char *const none[] = {NULL};

TEST(share_counts_one_byte)
{
    _Atomic uint8_t counters[3] = {7, 250, 9};
    share_count(&counters[1], 300);
    assert_int_equal(counters[0], 7);
    assert_int_equal(counters[1], (250 + 300) % 256);
    assert_int_equal(counters[2], 9);
}

/* The slow-down of the shared line. */
static double run_layouts(void)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_false_sharing, &machine, none, 0.3);
    size_t settings = machine.ncpus == 2 ? 1 : 2;
    assert_int_equal(scan_count(&scan, "write_rate"), 3 * settings);
    assert_int_equal(scan_count(&scan, "slowdown_vs_padded"), 2 * settings);
    double same = scan_value(&scan, "write_rate", "layout=same;threads=2");
    double padded = scan_value(&scan, "write_rate", "layout=padded;threads=2");
    assert_true(same > 0 && padded > 0);
    assert_true(isnan(scan_value(&scan, "slowdown_vs_padded", "layout=padded;threads=2")));
    double slowdown = scan_value(&scan, "slowdown_vs_padded", "layout=same;threads=2");
    return slowdown;
}

/* Load on the machine may keep the two threads from running at the same time, but not always. */
TEST(false_sharing_layouts)
{
    double slowdown = 0;
    if (machine.ncpus < 2)
        skip();
    machine.ncpus = machine.ncpus > 4 ? 4 : machine.ncpus;
    for (int tries = 0; tries < PATIENCE && !(slowdown > 0.8); tries++)
        slowdown = run_layouts();
    assert_true(slowdown > 0.8);
}

TEST(false_sharing_refuses_one_cpu)
{
    struct scan scan;
    static struct bench_machine lonely = {.ncpus = 1};
    assert_int_equal(scan_probe(&scan, &bench_false_sharing, &lonely, none), -ENOTSUP);
}

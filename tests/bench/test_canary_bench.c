/* bench/cpu/canary.c on this machine's CPUs: right results and plausible values. */
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static const char *const no_pairs[] = {NULL};

TEST(canary_emits_what_a_cpu_can_do)
{
    static struct bench_machine machine;
    static struct scan scan;
    scan_machine_init(&machine);
    scan_run(&scan, &bench_canary, &machine, no_pairs, 0.1);
    double integer_ns = scan_value(&scan, "canary_integer", "");
    double latency_ns = scan_value(&scan, "canary_latency", "");
    double copy_gbps = scan_value(&scan, "canary_copy", "");
    assert_true(integer_ns > 0.02 && integer_ns < 1000);
    assert_true(latency_ns > 0.2 && latency_ns < 1000);
    assert_true(copy_gbps > 0.001 && copy_gbps < 2000);
    scan_end(&scan);
}

/* Caches that are too large to copy beyond, or of size 0, change the arrays and nothing else. */
TEST(canary_on_any_caches)
{
    static struct bench_machine machine;
    static struct scan scan;
    scan_machine_init(&machine);
    machine.caches[1].size_bytes = UINT64_C(1) << 40;
    scan_run(&scan, &bench_canary, &machine, no_pairs, 0.1);
    assert_true(scan_value(&scan, "canary_copy", "") > 0);
    scan_end(&scan);
    machine.ncaches = 0;
    scan_run(&scan, &bench_canary, &machine, no_pairs, 0.1);
    assert_true(scan_value(&scan, "canary_copy", "") > 0);
    scan_end(&scan);
}

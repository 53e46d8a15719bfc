/* Launches are counted, waits return when the GPU is done, and the scan emits every way to wait. */

#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/gpu/gpu_launch.h"
#include "tests/lib/fixture_gpu.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

ON_GPUS

static void assert_good(int rc, const char *msg)
{
    if (rc)
        fail_msg("%s", msg);
}

TEST(gpu_launch_counts_what_ran)
{
    struct err err = {0};
    for (unsigned i = 0; i < machine.ngpus; i++) {
        struct gpu_launch *gpu;
        uint64_t ran, launched;
        assert_good(gpu_launch_open(machine.gpus[i].pci_bdf, &gpu, &err), err.msg);
        for (unsigned kernels = 0, sum = 1; kernels < 3000; kernels += 999) {
            assert_good(gpu_launch_kernels(gpu, kernels, &err), err.msg);
            assert_good(gpu_launch_graphs(gpu, GPU_GRAPH_ONE, 2, &err), err.msg);
            assert_good(gpu_launch_graphs(gpu, GPU_GRAPH_CHAIN, 3, &err), err.msg);
            assert_good(gpu_launch_count(gpu, &ran, &launched, &err), err.msg);
            sum += kernels + 2 + 3 * GPU_GRAPH_KERNELS;
            assert_int_equal(launched, sum);
            assert_int_equal(ran, launched);
        }
        gpu_launch_close(gpu);
    }
}

/* With each flag, and after any other. */
TEST(gpu_launch_wait_lasts_as_long_as_the_gpu)
{
    static const enum gpu_wait waits[] = {GPU_WAIT_BLOCK, GPU_WAIT_SPIN, GPU_WAIT_YIELD,
                                          GPU_WAIT_BLOCK};
    struct gpu_launch *gpu;
    struct err err = {0};
    assert_good(gpu_launch_open(machine.gpus[0].pci_bdf, &gpu, &err), err.msg);
    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        assert_good(gpu_launch_set_wait(gpu, waits[i], &err), err.msg);
        uint64_t start_ns = clock_now_ns();
        assert_good(gpu_launch_delay(gpu, 20000000, &err), err.msg);
        uint64_t launched_ns = clock_now_ns() - start_ns;
        assert_good(gpu_launch_wait(gpu, &err), err.msg);
        uint64_t took_ns = clock_now_ns() - start_ns;
        print_message("wait %d: launch %.1f us, 20 ms kernel and wait %.2f ms\n", (int)waits[i],
                      (double)launched_ns * 1e-3, (double)took_ns * 1e-6);
        assert_true(took_ns >= 19000000);
    }
    gpu_launch_close(gpu);
}

TEST(gpu_launch_unknown_address_is_no_device)
{
    struct gpu_launch *gpu;
    struct err err = {0};
    assert_int_equal(gpu_launch_open("ffff:ff:1f.0", &gpu, &err), -ENODEV);
    assert_null(gpu);
    assert_has(err.msg, "ffff:ff:1f.0");
}

static double latency(const struct scan *scan, const char *what, const char *wait, const char *load,
                      const char *stat)
{
    char key[DIMS_KEY_MAX];
    put_text(key, "what=%s;wait=%s;load=%s;stat=%s;gpu=0", what, wait, load, stat);
    double us = scan_value(scan, "launch_latency", key);
    if (!(us > 0.05 && us < 10e6))
        fail_msg("%s is %g us", key, us);
    print_message("%s: %.2f us\n", key, us);
    return us;
}

TEST(gpu_launch_scan_emits_every_way)
{
    static struct scan scan;
    static const char *const loads[] = {"idle", "busy"};
    scan_run(&scan, &bench_gpu_launch, &machine, (const char *[]){NULL}, 2.0);
    assert_int_equal(scan_count(&scan, "launch_latency"), 9 * 2 * 3 * machine.ngpus);
    for (int i = 0; i < 2; i++) {
        double p50 = latency(&scan, "sync", "spin", loads[i], "p50");
        double p99 = latency(&scan, "sync", "spin", loads[i], "p99");
        assert_true(p50 <= p99 && p99 <= latency(&scan, "sync", "spin", loads[i], "max"));
        (void)latency(&scan, "sync", "yield", loads[i], "p50");
        (void)latency(&scan, "sync", "block", loads[i], "p50");
        (void)latency(&scan, "graph1", "spin", loads[i], "p50");
        (void)latency(&scan, "queue", "spin", loads[i], "p50");
    }
    /* "sync" includes a launch and a wait; a kernel of a long graph costs less than one alone. */
    assert_true(latency(&scan, "launch", "spin", "idle", "p50") <
                latency(&scan, "sync", "spin", "idle", "p50"));
    assert_true(latency(&scan, "graph20", "spin", "idle", "p50") <
                latency(&scan, "sync", "spin", "idle", "p50"));
    double spin = scan_value(&scan, "wait_cpu_share", "wait=spin;gpu=0");
    double block = scan_value(&scan, "wait_cpu_share", "wait=block;gpu=0");
    print_message("CPU share while waiting: spin %.2f, yield %.2f, block %.2f\n", spin,
                  scan_value(&scan, "wait_cpu_share", "wait=yield;gpu=0"), block);
    assert_true(block < 0.5 && spin > block);
    double share = scan_value(&scan, "load_share", "");
    assert_true(share > 0.2 && share <= 1.01);
    scan_end(&scan);
}

/* The fixed kernel on real GPUs: right results, and the same number of clock cycles each time. */

#include "kernels/gpu/gpu_canary.h"
#include "tests/lib/fixture_gpu.h"
#include "tests/lib/unit.h"

enum { RUNS = 50 };

ON_GPUS

static void assert_good(int rc, const char *msg)
{
    if (rc)
        fail_msg("%s", msg);
}

TEST(gpu_canary_takes_as_many_cycles_each_time)
{
    struct err err = {0};
    for (unsigned i = 0; i < machine.ngpus; i++) {
        struct gpu_canary *gpu;
        double seconds = 0, cycles = 0, least = 1e18, most = 0;
        unsigned wrong = 1;
        assert_good(gpu_canary_open(machine.gpus[i].pci_bdf, &gpu, &err), err.msg);
        for (unsigned run = 0; run < RUNS; run++) {
            assert_good(gpu_canary_run(gpu, &seconds, &cycles, &err), err.msg);
            least = cycles < least ? cycles : least;
            most = cycles > most ? cycles : most;
        }
        assert_good(gpu_canary_check(gpu, &wrong, &err), err.msg);
        print_message("GPU %u: %.0f to %.0f cycles, the last run %.1f us: %.0f MHz\n", i, least,
                      most, seconds * 1e6, cycles / seconds * 1e-6);
        assert_int_equal(wrong, 0);
        assert_true(most < 1.05 * least);
        assert_true(cycles / seconds > 1e8 && cycles / seconds < 5e9); /* a plausible clock */
        gpu_canary_close(gpu);
    }
}

TEST(gpu_canary_unknown_address_is_an_error)
{
    struct gpu_canary *gpu;
    struct err err = {0};
    assert_true(gpu_canary_open("ffff:ff:1f.0", &gpu, &err) < 0);
    assert_null(gpu);
    gpu_canary_close(gpu);
}

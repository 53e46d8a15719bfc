/* Copies that wait for their turn, and a dose of h2d that is held on links without other load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "bench/registry.h"
#include "harness/contract/dose.h"
#include "kernels/gpu/gpu_upload.h"
#include "tests/lib/fixture_gpu.h"

enum { SKIPPED = 77, MOST = 1 << 20 };

static struct bench_machine machine;

static void assert_good(int rc, const char *msg)
{
    if (rc)
        fail_msg("%s", msg);
}

static void test_gpu_dose_copies_arrive_in_order(void **state)
{
    (void)state;
    char msg[240] = "";
    struct gpu_upload *upload;
    size_t bytes = 0;
    assert_good(gpu_upload_open(machine.gpus[0].pci_bdf, MOST, &upload, msg, sizeof(msg)), msg);
    assert_int_equal(gpu_upload_wait(upload, &bytes, msg, sizeof(msg)), -EINVAL);
    assert_int_equal(gpu_upload_queue(upload, MOST + 8, msg, sizeof(msg)), -EINVAL);
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++)
        assert_good(gpu_upload_queue(upload, 8u << i, msg, sizeof(msg)), msg);
    assert_int_equal(gpu_upload_queue(upload, 8, msg, sizeof(msg)), -EINVAL);
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++) {
        assert_good(gpu_upload_wait(upload, &bytes, msg, sizeof(msg)), msg);
        assert_int_equal(bytes, 8u << i);
    }
    assert_good(gpu_upload_queue(upload, MOST, msg, sizeof(msg)), msg);
    assert_good(gpu_upload_check(upload, msg, sizeof(msg)), msg);
    assert_int_equal(gpu_upload_queued(upload), 0);
    gpu_upload_close(upload);
}

static void test_gpu_dose_is_held_on_idle_links(void **state)
{
    (void)state;
    static const double levels[] = {0.9, 0.7, 0.4, 1};
    for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++) {
        struct dose dose = {DOSE_H2D, levels[k]};
        struct err err = {0};
        struct bench_ctx ctx = {
            .params = &dose, .workers = 1, .seed = 7, .err = &err, .machine = &machine};
        struct sample sample = {0};
        assert_good(bench_open(&bench_dose, &ctx), err.msg);
        double sum = 0;
        for (unsigned i = 0; i < 10; i++) {
            assert_good(bench_dose.step(&ctx, 1, &sample), err.msg);
            sum += sample.rate;
        }
        assert_good(bench_dose.check(&ctx), err.msg);
        bench_close(&bench_dose, &ctx);
        print_message("h2d=%g: held %.4f\n", levels[k], sum / 10);
        assert_true(fabs(sum / 10 - levels[k]) < 0.02);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu_dose_copies_arrive_in_order),
        cmocka_unit_test(test_gpu_dose_is_held_on_idle_links),
    };
    if (fixture_find_gpus(&machine) == 0)
        return SKIPPED;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

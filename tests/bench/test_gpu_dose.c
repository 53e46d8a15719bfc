/* Copies that wait for their turn, and a dose of h2d on links without other load and beside it. */

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "bench/registry.h"
#include "harness/lib/dose.h"
#include "harness/lib/sys/clock.h"
#include "kernels/gpu/copy/gpu_upload.h"
#include "tests/lib/fixture_gpu.h"
#include "tests/lib/unit.h"

enum { MOST = 1 << 20, COPIED = 16 << 20 };

static struct bench_machine machine;

enum other_state { OTHER_WAITS, OTHER_COPIES, OTHER_ENDS };

/* Shared with another process. */
static struct other {
    _Atomic enum other_state state;
    _Atomic uint64_t copied; /* bytes */
} * other;

static void assert_good(int rc, const char *msg)
{
    if (rc)
        fail_msg("%s", msg);
}

TEST(gpu_dose_copies_arrive_in_order)
{
    struct err err = {0};
    struct gpu_upload *upload;
    size_t bytes = 0;
    float took_ms = 0;
    assert_good(gpu_upload_open(machine.gpus[0].pci_bdf, MOST, &upload, &err), err.msg);
    assert_int_equal(gpu_upload_wait(upload, &bytes, &took_ms, &err), -EINVAL);
    assert_int_equal(gpu_upload_queue(upload, MOST + 8, &err), -EINVAL);
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++)
        assert_good(gpu_upload_queue(upload, 8u << i, &err), err.msg);
    assert_int_equal(gpu_upload_queue(upload, 8, &err), -EINVAL);
    for (unsigned i = 0; i < GPU_UPLOAD_DEPTH; i++) {
        assert_good(gpu_upload_wait(upload, &bytes, &took_ms, &err), err.msg);
        assert_int_equal(bytes, 8u << i);
    }
    assert_good(gpu_upload_queue(upload, MOST, &err), err.msg);
    assert_good(gpu_upload_check(upload, &err), err.msg);
    assert_int_equal(gpu_upload_queued(upload), 0);
    gpu_upload_close(upload);
}

/* The mean of a second under the dose. other_rate: bytes per ns of the other process meanwhile. */
static double hold_a_second(double level, double *other_rate)
{
    struct dose dose = {DOSE_H2D, level};
    struct err err = {0};
    struct bench_ctx ctx = {
        .params = &dose, .workers = 1, .seed = 7, .err = &err, .machine = &machine};
    struct sample sample = {0};
    double sum = 0;
    assert_good(bench_open(&bench_dose, &ctx), err.msg);
    const uint64_t from_ns = clock_now_ns(), had = atomic_load(&other->copied);
    for (unsigned i = 0; i < 10; i++) {
        assert_good(bench_dose.step(&ctx, 1, &sample), err.msg);
        sum += sample.rate;
    }
    *other_rate = (double)(atomic_load(&other->copied) - had) / (double)(clock_now_ns() - from_ns);
    assert_good(bench_dose.check(&ctx), err.msg);
    bench_close(&bench_dose, &ctx);
    print_message("h2d=%g: held %.4f\n", level, sum / 10);
    return sum / 10;
}

TEST(gpu_dose_is_held_on_idle_links)
{
    static const double levels[] = {0.9, 0.7, 0.4, 1};
    double other_rate;
    for (size_t k = 0; k < sizeof(levels) / sizeof(levels[0]); k++)
        assert_true(fabs(hold_a_second(levels[k], &other_rate) - levels[k]) < 0.02);
}

/* The dose knows the link's own rate, although it never has the link for itself. */
TEST(gpu_dose_leaves_its_share_to_another_process)
{
    double alone, beside;
    atomic_store(&other->state, OTHER_COPIES);
    for (unsigned ms = 0; ms < 30000 && !atomic_load(&other->copied); ms++)
        clock_sleep_until(clock_timer_ns() + 1000000);
    assert_true(atomic_load(&other->copied) > 0);
    const double nothing = hold_a_second(1, &alone);
    const double held = hold_a_second(0.7, &beside);
    assert_int_equal(atomic_load(&other->state), OTHER_COPIES);
    atomic_store(&other->state, OTHER_ENDS);
    print_message("the other process: %.1f GB/s alone, %.3f of it beside\n", alone, beside / alone);
    assert_true(fabs(nothing - 1) < 0.02);
    assert_true(fabs(held - 0.7) < 0.02);
    assert_true(fabs(beside / alone - 0.7) < 0.05);
}

/* The other process: copies to the first GPU when it is told to, two pieces in flight. */
static int copy_all_the_time(void)
{
    struct err err = {0};
    struct gpu_upload *upload = NULL;
    size_t bytes = 0;
    float took_ms;
    while (atomic_load(&other->state) == OTHER_WAITS)
        clock_sleep_until(clock_timer_ns() + 1000000);
    if (atomic_load(&other->state) == OTHER_ENDS || fixture_find_gpus(&machine) == 0)
        return 0;
    int rc = gpu_upload_open(machine.gpus[0].pci_bdf, COPIED, &upload, &err);
    while (!rc && atomic_load(&other->state) == OTHER_COPIES) {
        while (!rc && gpu_upload_queued(upload) < 2)
            rc = gpu_upload_queue(upload, COPIED, &err);
        if (!rc)
            rc = gpu_upload_wait(upload, &bytes, &took_ms, &err);
        (void)atomic_fetch_add(&other->copied, bytes);
    }
    if (rc)
        (void)fprintf(stderr, "the other process: %s\n", err.msg);
    atomic_store(&other->state, OTHER_ENDS);
    gpu_upload_close(upload);
    return 0;
}

BEFORE_TESTS
{
    other = mmap(NULL, sizeof(*other), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (other == MAP_FAILED)
        return 1;
    /* Before CUDA starts, which no child could use afterwards. */
    pid_t child = fork();
    if (child < 0)
        return 1;
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        exit(copy_all_the_time());
    }
    if (fixture_find_gpus(&machine))
        return 0;
    atomic_store(&other->state, OTHER_ENDS); /* it may not have come to prctl yet */
    return UNIT_SKIPPED;
}

/* Regions by counting, and the scan of one worker, which nobody disturbs. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>

#include "bench/registry.h"
#include "kernels/cpu/regions.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static const char *const none[] = {NULL};

static void count_mark(void *marks)
{
    atomic_fetch_add((atomic_uint *)marks, 1);
}

TEST(regions_divide_all_steps)
{
    enum { THREADS = 3, STEPS = 1000 };
    static struct regions_thread thread[THREADS];
    atomic_uint marks = 0;
    unsigned team = regions_run(thread, THREADS, STEPS, count_mark, &marks);
    uint64_t sum = 0;
    assert_in_range(team, 1, THREADS);
    assert_int_equal(atomic_load(&marks), team);
    for (unsigned t = 0; t < THREADS; t++) {
        sum += thread[t].steps;
        assert_true(t >= team || thread[t].steps - STEPS / team <= 1);
        for (unsigned c = 0; c < BUSY_CHAINS; c++)
            assert_true(thread[t].chains[c] == busy_expect(0, thread[t].steps));
    }
    assert_int_equal(sum, STEPS);
}

/* The two values say the same. How long regions take is the machine's matter, and its load's:
 * whoever shares a core with the calibration alone halves its speed, and regions look twice as
 * quick.
 */
TEST(grain_alone)
{
    static const unsigned works_us[] = {4, 16, 64, 256, 1024, 4096};
    struct scan scan;
    double before_us = 0;
    machine.ncpus = machine.ncpus > 2 ? 2 : machine.ncpus;
    scan_run(&scan, &bench_grain, &machine, none, 0.5);
    assert_true(scan_value(&scan, "grain_teams", "") == 1);
    for (size_t i = 0; i < sizeof(works_us) / sizeof(works_us[0]); i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "us=%u", works_us[i]);
        double slowdown = scan_value(&scan, "region_slowdown", key);
        double time_us = scan_value(&scan, "region_time", key);
        double ideal_us = (double)works_us[i] / machine.ncpus;
        assert_true(fabs(slowdown * ideal_us - time_us) <= 1e-9 * time_us);
        assert_true(slowdown > 0.25);
        before_us = time_us > before_us ? time_us : before_us;
    }
    assert_true(before_us >= 0.25 * 4096 / machine.ncpus);
    scan_end(&scan);
}

/* Of points whose region does not fit its slice several times there is no value. */
TEST(grain_leaves_long_regions_out)
{
    struct scan scan;
    scan_run(&scan, &bench_grain, &machine, none, 0.02);
    assert_true(isnan(scan_value(&scan, "region_time", "us=16384")));
    scan_end(&scan);
    scan_probe(&scan, &bench_grain, &machine, none);
    scan.ctx.budget_s = 1e-9;
    assert_int_equal(bench_open(&bench_grain, &scan.ctx), 0);
    assert_int_equal(bench_grain.scan(&scan.ctx), -ENOTSUP);
    scan_end(&scan);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    return 0;
}

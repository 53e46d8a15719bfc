/* Teams of a single worker, and the setting that their rates lead to. */
#include "bench/registry.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;
static const char *const small[] = {"rows=256", "cols=64", NULL};

/* Teams of 1, 2, 4 up to four times the CPUs; each rate agrees with the time of a batch. */
TEST(threads_alone)
{
    ENDED_BY(scan_end) struct scan scan;
    unsigned most = 4 * machine.ncpus;
    scan_run(&scan, &bench_threads, &machine, small, 0.3);
    for (unsigned threads = 1; threads <= most; threads *= 2) {
        char key[32];
        put_text(key, "workers=1;threads=%u", threads);
        double rate = scan_value(&scan, "threads_rate", key);
        double step_us = scan_value(&scan, "threads_step", key);
        assert_true(rate > 0);
        assert_true(fabs(rate * step_us - 256e6) < 1);
    }
    assert_int_equal(scan_count(&scan, "threads_rate"), scan_count(&scan, "threads_step"));
}

/* The setting is a team that no other team beats by 3%. The cliff is the first larger team with
 * less than half the rate of a smaller one. */
TEST(threads_finds_the_setting)
{
    ENDED_BY(scan_end) struct scan scan;
    scan_run(&scan, &bench_threads, &machine, small, 0.3);
    double setting = scan_value(&scan, "threads_best", "workers=1"), best = 0, own = 0;
    double cliff = NAN;
    for (unsigned threads = 1; threads <= 4 * machine.ncpus; threads *= 2) {
        char key[32];
        put_text(key, "workers=1;threads=%u", threads);
        double rate = scan_value(&scan, "threads_rate", key);
        cliff = isnan(cliff) && rate < 0.5 * best ? threads : cliff;
        best = rate > best ? rate : best;
        own = threads == (unsigned)setting ? rate : own;
    }
    assert_true(own >= 0.97 * best);
    double reported = scan_value(&scan, "threads_cliff", "workers=1");
    assert_true(isnan(cliff) ? isnan(reported) : reported == cliff);
}

BEFORE_TESTS
{
    scan_machine_init(&machine);
    machine.ncpus = machine.ncpus > 2 ? 2 : machine.ncpus;
    return 0;
}

/* The benchmark `dose` on an idle machine: which level it holds, and work that did not happen. */
#include "bench/registry.h"
#include "harness/lib/dose.h"
#include "tests/lib/fixture_scan.h"
#include "tests/lib/patience.h"
#include "tests/lib/unit.h"

static struct bench_machine machine;

/* A worker's side of the contract. */
struct job {
    struct dose dose;
    struct bench_ctx ctx;
    struct err err;
};

static int job_open(struct job *job, int kind, double level)
{
    *job = (struct job){.dose = {kind, level}};
    job->ctx = (struct bench_ctx){
        .params = &job->dose, .workers = 1, .seed = 7, .err = &job->err, .machine = &machine};
    return bench_open(&bench_dose, &job->ctx);
}

/* The mean level over that many steps. */
static double held(int kind, double level, unsigned steps)
{
    struct job job;
    struct sample sample = {0};
    double sum = 0;
    scan_machine_init(&machine);
    int rc = job_open(&job, kind, level);
    for (unsigned i = 0; i < steps && !rc; i++) {
        rc = bench_dose.step(&job.ctx, 1, &sample);
        sum += sample.rate;
    }
    rc = rc ? rc : bench_dose.check(&job.ctx);
    if (rc)
        fail_msg("%s %g: %s", dose_names[kind], level, job.err.msg);
    bench_close(&bench_dose, &job.ctx);
    return sum / steps;
}

TEST(dose_of_cpu_is_held)
{
    for (unsigned tries = 0; tries < PATIENCE; tries++)
        if (fabs(held(DOSE_CPU, 0.2, 10) - 0.2) < 0.02)
            return;
    fail_msg("20%% of the CPUs' time was not held in %d tries", PATIENCE);
}

/* A machine with few CPUs limits how much memory bandwidth a dose can take; the dose must not
 * exceed its level by much. */
TEST(dose_of_memory_runs_all_kinds)
{
    scan_machine_init(&machine);
    if (machine.ncpus < 2)
        skip();
    for (unsigned tries = 0; tries < PATIENCE; tries++)
        if (held(DOSE_BANDWIDTH, 0.9, 5) > 0.5 && held(DOSE_LATENCY, 1.1, 5) < 2 &&
            held(DOSE_CACHE, 0.8, 5) > 0.4)
            return;
    fail_msg("memory was disturbed by far more than asked in %d tries", PATIENCE);
}

TEST(dose_of_memory_needs_a_cpu_for_the_probe)
{
    struct job job;
    scan_machine_init(&machine);
    machine.ncpus = 1;
    assert_int_equal(job_open(&job, DOSE_LATENCY, 2), -ENOTSUP);
    bench_close(&bench_dose, &job.ctx);
}

TEST(dose_of_throttle_needs_workers_in_cgroups)
{
    struct job job;
    scan_machine_init(&machine);
    assert_int_equal(job_open(&job, DOSE_THROTTLE, 0.2), -ENOTSUP);
    bench_close(&bench_dose, &job.ctx);
}

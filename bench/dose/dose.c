#include "bench/dose/dose.h"

#include <errno.h>

#include "bench/registry.h"
#include "harness/lib/sys/clock.h"

/*
 * Contention at a dose: aggressors take what lib/dose.h defines from the workers on their
 * CPUs, and a closed loop holds the level. The load behind other benchmarks and commands (--dose),
 * or beside anything else that runs on its CPUs.
 *
 * **Measures** the level of each step, of about 0.1 s. `cpu`: the CPU time of the aggressors (their
 * threads' clocks) over the time of their CPUs. `bandwidth`, `latency` and `cache`: the probe's
 * speed over all of the step, relative to the parts of it in which the aggressors rested. `h2d`: 1
 * less the bytes that the aggressors copied to the GPUs over those that the links can carry, as
 * measured at the start. `throttle`: what cpu.stat of the workers' cgroups reports
 * (dose_throttle.h). The throughput is the mean of the steps' levels. **Source** D. Iorga et al.,
 * "Slow and Steady: Measuring and Tuning Multicore Interference", RTAS 2020, for aggressors that
 * are tuned on each machine; facebookexperimental/resctl-demo, rd-hashd, for a load controlled by
 * its measured effect.
 * **Limits** `cpu` is the share that an always runnable task loses. A task that sleeps in between
 * may wait less, as schedulers favour it: its own waiting is in the workers' rows. Where the kernel
 * divides a CPU among sessions (autogroup) or cgroups, all aggressors get one part. A CPU that the
 * hypervisor steals counts as used. Memory doses hold where the probe is, on the first of its CPUs.
 * `h2d` needs all GPUs that CUDA shows; beside one worker that copies without pause ends at half of
 * a link, as the driver serves processes by turns. `throttle` affects workers that compute: a
 * worker that mostly waits is seldom stopped, and with others on its CPUs it is stopped for less of
 * the time.
 */

static const double step_ns = 1e8;

static const struct opt dose_opts[] = {
    OPT_CHOICE("kind", dose, kind, "cpu", dose_names, "KIND", "what is taken"),
    OPT_DOUBLE(
        "level", dose, level, "0.2", 0, 20, "LEVEL",
        "how much: 0.2 of the time; share of bandwidth, cache or link left; times the latency"),
    {.name = NULL},
};

static int dose_validate(const void *params, struct err *err)
{
    return dose_check(params, err);
}

static const struct dose_ops *ops_of(const struct bench_ctx *ctx)
{
    const struct dose *dose = ctx->params;
    static const struct dose_ops *const ops[DOSE_KINDS] = {
        [DOSE_CPU] = &dose_cpu,        [DOSE_BANDWIDTH] = &dose_memory,
        [DOSE_LATENCY] = &dose_memory, [DOSE_CACHE] = &dose_memory,
        [DOSE_H2D] = &dose_h2d,        [DOSE_THROTTLE] = &dose_throttle};
    return ops[dose->kind];
}

static int dose_setup(struct bench_ctx *ctx)
{
    const struct dose *dose = ctx->params;
    const struct dose_ops *ops = ops_of(ctx);
    ctx->state = bench_array(ctx, 1, ops->state_size);
    return ctx->state ? ops->start(ctx, dose->level) : -ENOMEM;
}

static int dose_step(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    clock_sleep_until(clock_timer_ns() + (uint64_t)(step_ns * (double)iters));
    sample->rate = ops_of(ctx)->hold(ctx);
    return 0;
}

static int dose_finish(struct bench_ctx *ctx)
{
    return ops_of(ctx)->check(ctx);
}

const struct bench bench_dose = {
    .name = "dose",
    .summary = "aggressors that hold contention at a level: behind others, by --dose",
    .ops_unit = "levels",
    .rate_unit = "level",
    .opts = dose_opts,
    .params_size = sizeof(struct dose),
    .validate = dose_validate,
    .setup = dose_setup,
    .step = dose_step,
    .check = dose_finish,
};

static void stop_at_close(void *what)
{
    dose_team_stop(what);
}

int dose_team_start(struct dose_team *dose_team, struct bench_ctx *ctx, const unsigned *os_cpus,
                    unsigned n, team_job *job, void *arg)
{
    int rc = team_open(&dose_team->team, ctx, os_cpus, n);
    if (rc)
        return rc;
    team_begin(&dose_team->team, NULL, n, job, arg);
    dose_team->running = true;
    return bench_at_close(ctx, stop_at_close, dose_team);
}

void dose_team_stop(struct dose_team *dose_team)
{
    if (!dose_team->running)
        return;
    atomic_store(&dose_team->stop, true);
    team_end(&dose_team->team);
    dose_team->running = false;
}

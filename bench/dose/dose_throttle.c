/*
 * Throttled time: each worker of the measured job has a cgroup with a quota of CPU time, adjusted
 * by its counters (throttle.h). No aggressor runs.
 */
#include <errno.h>
#include <math.h>

#include "bench/dose/dose.h"
#include "bench/dose/throttle.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/groups.h"

enum { WORKERS_MOST = 1024 };

struct throttle_dose {
    double level;
    struct groups groups;
    unsigned n; /* workers whose cgroup exists */
    struct throttled_worker {
        struct throttle throttle;
        double throttled_s;
    } * workers;
    uint64_t since_ns;
};

static struct throttle_counts read_counts(const char *dir)
{
    struct cgroup_counts counts = cgroup_read_counts("", dir);
    return (struct throttle_counts){counts.periods, counts.throttled_s};
}

/* Workers enter their cgroups, with a quota that stops nobody, while this process starts. */
static void find_workers(struct throttle_dose *dose)
{
    char dir[GROUPS_PATH_MAX];
    while (dose->n < WORKERS_MOST) {
        groups_name(&dose->groups, dose->n, dir, sizeof(dir));
        double quota = cgroup_read_quota("", dir);
        if (isnan(quota))
            break;
        throttle_begin(&dose->workers[dose->n++].throttle, dose->level, quota);
    }
}

static double throttle_hold(struct bench_ctx *ctx)
{
    struct throttle_dose *dose = ctx->state;
    const uint64_t now_ns = clock_now_ns();
    const double over_s = (double)(now_ns - dose->since_ns) * 1e-9;
    double sum = 0;
    find_workers(dose);
    for (unsigned i = 0; i < dose->n; i++) {
        struct throttled_worker *worker = &dose->workers[i];
        struct throttle *throttle = &worker->throttle;
        char dir[GROUPS_PATH_MAX];
        groups_name(&dose->groups, i, dir, sizeof(dir));
        struct throttle_counts now = read_counts(dir);
        sum += throttle_held(throttle->quota, now.throttled_s - worker->throttled_s, over_s);
        worker->throttled_s = now.throttled_s;
        if (throttle_correct(throttle, now))
            (void)groups_set_quota(dir, throttle->quota, GROUPS_PERIOD_US, ctx->err);
    }
    dose->since_ns = now_ns;
    return dose->n ? sum / dose->n : 0;
}

static int throttle_start(struct bench_ctx *ctx, double level)
{
    struct throttle_dose *dose = ctx->state;
    if (!ctx->groups || !ctx->groups[0])
        return err_set(ctx->err, -ENOTSUP, "a dose of throttle needs workers beside it (--dose)");
    dose->level = level;
    dose->since_ns = clock_now_ns();
    dose->workers = bench_array(ctx, WORKERS_MOST, sizeof(*dose->workers));
    (void)snprintf(dose->groups.dir, sizeof(dose->groups.dir), "%s", ctx->groups);
    return dose->workers ? 0 : -ENOMEM;
}

static int throttle_check(struct bench_ctx *ctx)
{
    return ctx->err->code;
}

const struct dose_ops dose_throttle = {throttle_start, throttle_hold, throttle_check,
                                       sizeof(struct throttle_dose)};

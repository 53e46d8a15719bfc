#include "bench/dose/dose_throttle.h"

#include <errno.h>
#include <math.h>

#include "bench/dose/dose.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/clock.h"

/*
 * Throttled time: each worker of the measured job has a cgroup with a quota of CPU time, adjusted
 * by its counters (dose_throttle.h). No aggressor runs.
 */

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

static const double period_s = GROUPS_PERIOD_US * 1e-6;
/* A wrong quota is set anew when the error amounts to enough_error_periods periods, or after
 * `longest_periods` periods. */
static const double enough_error_periods = 0.5, longest_periods = 10;
/* As a share of the level: each new quota costs a period, so small errors are not corrected. */
static const double least_error_share = 0.12;
/* Least level assumed if a quota stopped nobody: demand may be far below it, as at the start. */
static const double blind_level = 0.3, first_level = 0.5;
static const double least_quota = 0.02;
/* The deficit, in periods, is repaid at `repaid_share` a period, at most half of the level. */
static const double deficit_most = 0.8, repaid_share = 0.1;

void throttle_begin(struct throttle *throttle, double level, double most)
{
    *throttle = (struct throttle){.level = level, .quota = most, .most = most, .is_new = true};
}

double throttle_held(double quota, double throttled_s, double over_s)
{
    return throttled_s > 0 ? throttled_s / fmax(over_s, quota * over_s + throttled_s) : 0;
}

static double between(double least, double value, double most)
{
    return fmax(least, fmin(value, most));
}

static double find_goal(const struct throttle *throttle)
{
    return throttle->level + repaid_share * throttle->deficit;
}

static bool has_stopped(const struct throttle *throttle)
{
    return throttle->last.throttled_s > 0;
}

static void update_deficit(struct throttle *throttle)
{
    double deficit = throttle->deficit + throttle->level * throttle->periods - throttle->held;
    double most = fmin(deficit_most, throttle->level / 2 / repaid_share);
    if (has_stopped(throttle))
        throttle->deficit = between(-most, deficit, most);
}

static double find_quota(const struct throttle *throttle, double held)
{
    double least = held > 0 ? 0 : has_stopped(throttle) ? blind_level : first_level;
    double target = fmax(find_goal(throttle), least);
    double quota = throttle->quota * (1 - target) / (1 - held);
    return between(least_quota, quota, throttle->most);
}

bool throttle_correct(struct throttle *throttle, struct throttle_counts now)
{
    double periods = now.periods - throttle->last.periods;
    if (!(periods >= 1)) /* no worker ran */
        return false;
    throttle->held +=
        periods * throttle_held(throttle->quota, now.throttled_s - throttle->last.throttled_s,
                                periods * period_s);
    throttle->periods += periods;
    throttle->last = now;
    double held = throttle->held / throttle->periods, error = fabs(held - find_goal(throttle));
    bool was_new = throttle->is_new;
    if (!was_new && has_stopped(throttle) && error * throttle->periods < enough_error_periods &&
        throttle->periods < longest_periods)
        return false;
    update_deficit(throttle);
    error = fabs(held - find_goal(throttle));
    double quota = was_new || error < least_error_share * throttle->level
                       ? throttle->quota
                       : find_quota(throttle, held);
    throttle->is_new = quota != throttle->quota;
    throttle->quota = quota;
    throttle->periods = throttle->held = 0;
    return throttle->is_new;
}

#include "bench/dose/throttle.h"

#include <math.h>

#include "harness/lib/sys/groups.h"

static const double period_s = GROUPS_PERIOD_US * 1e-6;
/* A wrong quota is set anew when the error amounts to enough_off periods, or after `longest`
 * periods. */
static const double enough_off = 0.5, longest = 10;
/* As a share of the level: each new quota costs a period, so small errors are not corrected. */
static const double least_off = 0.12;
/* Least level assumed if a quota stopped nobody: demand may be far below it, as at the start. */
static const double blind_level = 0.3, first_level = 0.5;
static const double least_quota = 0.02;
/* The deficit, in periods, is repaid in parts of `part`, at most half of the level. */
static const double most_owed = 0.8, part = 0.1;

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
    return throttle->level + part * throttle->owed;
}

static bool has_stopped(const struct throttle *throttle)
{
    return throttle->last.throttled_s > 0;
}

static void owe(struct throttle *throttle)
{
    double owed = throttle->owed + throttle->level * throttle->periods - throttle->held;
    double most = fmin(most_owed, throttle->level / 2 / part);
    if (has_stopped(throttle))
        throttle->owed = between(-most, owed, most);
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
    double held = throttle->held / throttle->periods, off = fabs(held - find_goal(throttle));
    bool was_new = throttle->is_new;
    if (!was_new && has_stopped(throttle) && off * throttle->periods < enough_off &&
        throttle->periods < longest)
        return false;
    owe(throttle);
    off = fabs(held - find_goal(throttle));
    double quota =
        was_new || off < least_off * throttle->level ? throttle->quota : find_quota(throttle, held);
    throttle->is_new = quota != throttle->quota;
    throttle->quota = quota;
    throttle->periods = throttle->held = 0;
    return throttle->is_new;
}

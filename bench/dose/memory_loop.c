#include "bench/dose/memory_loop.h"

#include <math.h>

static const double most_share = 0.9; /* the rest shows the speed without aggressors */
static const double few_share = 0.2, enough_share = 0.7;
static const double gain = 0.1; /* per step, on the share of the time */
static const double most_trim = 0.3;

double memory_loop_enough(double target)
{
    return 1 - (1 - target) / enough_share;
}

unsigned memory_loop_more(unsigned active, unsigned most)
{
    return 2 * active < most ? 2 * active : most;
}

/* For another number of aggressors, whose effect on the probe is not known yet. */
static void set_active(struct memory_loop *loop, unsigned active)
{
    loop->active = active;
    loop->share = enough_share / 2;
    loop->pressing = NAN;
    loop->trim = 0;
}

/* speed = 1 - share (1 - pressing / resting); what is left of the difference goes to the trim. */
static void set_share(struct memory_loop *loop, double held)
{
    if (loop->target >= 1) {
        loop->share = 0;
        return;
    }
    if (isnan(loop->pressing) || isnan(loop->resting)) {
        loop->share = enough_share / 2;
        return;
    }
    const double cost = fmax(0.01, 1 - loop->pressing / loop->resting);
    if (!isnan(held))
        loop->trim =
            fmin(most_trim, fmax(-most_trim, loop->trim + gain * (held - loop->target) / cost));
    const double share = (1 - loop->target) / cost + loop->trim;
    if (share > most_share && loop->active < loop->most)
        set_active(loop, memory_loop_more(loop->active, loop->most));
    else if (share < few_share && loop->active > 1)
        set_active(loop, loop->active / 2);
    else
        loop->share = fmax(0, fmin(share, most_share));
}

void memory_loop_init(struct memory_loop *loop, double target, unsigned most, unsigned active,
                      double resting, double pressing)
{
    *loop = (struct memory_loop){
        .target = target, .most = most, .active = active, .resting = resting, .pressing = pressing};
    set_share(loop, NAN);
}

double memory_loop_step(struct memory_loop *loop, const struct probe_speeds *step)
{
    /* Not means of several steps: they lag when workers begin or end their traffic. */
    if (!isnan(step->resting))
        loop->resting = step->resting;
    if (!isnan(step->pressing))
        loop->pressing = step->pressing;
    const double held = step->all / loop->resting;
    set_share(loop, held);
    return held;
}

/*
 * Decides how many aggressors of a memory dose press, and for which share of the time, from the
 * speeds of its probe. Knows no clocks or threads.
 *
 *   memory_loop_init(&loop, 0.8, 7, 2, resting, pressing);
 *   held = memory_loop_step(&loop, &speeds);       each 0.1 s; then apply loop.active, loop.share
 */
#ifndef CONTEND_BENCH_DOSE_DOSE_MEMORY_H
#define CONTEND_BENCH_DOSE_DOSE_MEMORY_H

/* Of the probe, in any unit; NaN = not measured. */
struct probe_speeds {
    double all, resting, pressing; /* over all of the step, and while aggressors rest or press */
};

struct memory_loop {
    double target;   /* speed relative to that with resting aggressors; 1 or more: none presses */
    unsigned most;   /* aggressors */
    unsigned active; /* of them, at least 1 */
    double share;    /* of the time, in which they press */
    double resting, pressing; /* as measured last */
    double trim;
};

/* `resting` and `pressing`: the probe's speeds beside no and beside `active` aggressors. */
void memory_loop_init(struct memory_loop *loop, double target, unsigned most, unsigned active,
                      double resting, double pressing);

/*
 * The level of the step: its speed relative to its resting speed, or to the last one if the step
 * has none; NaN: no speed. Then sets `active` and `share` for the next step.
 */
double memory_loop_step(struct memory_loop *loop, const struct probe_speeds *step);

#endif

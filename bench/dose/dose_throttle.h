/*
 * Computes the quota of CPU time that stops a worker for a share of its time: arithmetic alone.
 *
 * The kernel counts throttled time separately on each run queue of a cgroup, and sums it. Without a
 * quota, a worker would have run for that sum plus its quota, which it used up before it was
 * stopped; the held level is throttled time over this. A worker that needs less than one CPU is
 * stopped on one run queue only. Its level is throttled time over elapsed time.
 */
#ifndef CONTEND_BENCH_DOSE_DOSE_THROTTLE_H
#define CONTEND_BENCH_DOSE_DOSE_THROTTLE_H

#include <stdbool.h>

/* Counters of a cgroup since its start. */
struct throttle_counts {
    double periods, throttled_s;
};

/* One worker's controller. */
struct throttle {
    double level;         /* requested share */
    double quota, most;   /* CPUs: now, and the quota that stops nobody */
    bool is_new;          /* the quota was just set: the period of the change had two quotas */
    double periods, held; /* since the last decision: periods, and sum of held levels over them */
    double deficit;       /* held time that is missing so far, in periods */
    struct throttle_counts last;
};

void throttle_begin(struct throttle *throttle, double level, double most);

/* The level that was held over this time: 0..1. */
double throttle_held(double quota, double throttled_s, double over_s);

/* Call about once a period. True: throttle->quota changed, and must be set. */
bool throttle_correct(struct throttle *throttle, struct throttle_counts now);

#endif

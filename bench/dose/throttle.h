/*
 * The quota of CPU time that stops a worker for a share of its time: arithmetic alone.
 *
 * The kernel counts throttled time on each run queue of a cgroup apart, and adds it up. What a
 * worker would have run is that sum and its quota, which it used up before it was stopped: the
 * share is of these. Who would run for less than one CPU's time has one run queue to be stopped on,
 * so there it is of the time that passed.
 */
#ifndef CONTEND_BENCH_DOSE_THROTTLE_H
#define CONTEND_BENCH_DOSE_THROTTLE_H

#include <stdbool.h>

/* Counters of a cgroup so far. */
struct throttle_counts {
    double periods, throttled_s;
};

/* One worker's. */
struct throttle {
    double level;         /* asked for */
    double quota, most;   /* CPUs: now, and with which nobody is stopped */
    bool is_new;          /* a quota fills up when it is set: that period had two */
    double periods, held; /* since it was set or found good; what was held, summed over them */
    double owed;          /* too little so far, in periods */
    struct throttle_counts last;
};

void throttle_begin(struct throttle *throttle, double level, double most);

/* The level that was held over so much time. */
double throttle_held(double quota, double throttled_s, double over_s);

/* Looks once a period or so. True: the quota is another one, to be set. */
bool throttle_correct(struct throttle *throttle, struct throttle_counts now);

#endif

/*
 * Judges requests that came when a schedule said: how late each was, counted from when it was due,
 * and statistics of many. PURE
 *
 * A request that nobody has begun when time is over is late by what has passed until then, at
 * least: such a latency is a bound, and so is every percentile that reaches one. Bounds are kept as
 * negative numbers, so that they go where latencies go.
 */
#ifndef CONTEND_BENCH_FEED_SERVED_H
#define CONTEND_BENCH_FEED_SERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One request, in ns from the beginning of the schedule. */
struct served_request {
    uint64_t at_ns;             /* when it was to come */
    uint64_t begin_ns, done_ns; /* 0, 0: nobody has begun it */
};

/* The requests of one worker, in the order in which they come and are served. */
struct served {
    const struct served_request *requests;
    size_t n;
    uint64_t from_ns, to_ns; /* the requests count that come in between */
    uint64_t over_ns;        /* when the worker gave up, at to_ns or later */
};

/* Those that count: requests[first .. first + n - 1]. */
struct served_part {
    size_t first, n;
};
struct served_part served_counted(const struct served *served);

/* ms from when each was to come to when it was done, or minus the bound; those that count. */
void served_latencies(const struct served *served, double *late_ms);

/* The same from when it was begun, of those that were: what a client sees that waits for its answer
 * before it asks again. Returns how many. */
size_t served_services(const struct served *served, double *service_ms);

/* How many were done from from_ns to before to_ns, whenever they came. */
size_t served_done(const struct served *served);

/* Raises worst_ms of the bin in which each came, of n bins of bin_ns from from_ns on; NaN is below
 * all. Bounds count as they are. */
void served_worst(const struct served *served, uint64_t bin_ns, double *worst_ms, size_t n);

/* Latencies of all workers, sorted by what is known of them. */
struct served_all {
    double *ms; /* sorted, bounds without their sign; borrowed */
    size_t n;
    size_t unserved;
    double least_bound; /* INFINITY where there is none */
};
struct served_all served_sort(double *late_ms, size_t n);

struct served_value {
    double ms; /* NaN without requests */
    bool at_least;
};
/* fraction 1 is the largest. */
struct served_value served_percentile(const struct served_all *all, double fraction);

/*
 * Whether n requests are enough for that percentile. Above the true one n (1 - fraction)
 * are expected: with 10, the one that is told lies, in 95 of 100 cases, where 0.5 to 1.8 times the
 * share of 1 - fraction is above (Poisson); below 1 it lies beyond the latest request. For the
 * latest itself any n is enough. Source: David and Nagaraja, Order Statistics, 2003, 7.1.
 */
enum served_known { SERVED_BEYOND, SERVED_FEW, SERVED_KNOWN };
enum { SERVED_ABOVE = 10 };
enum served_known served_know(size_t n, double fraction);

/*
 * Where the p99 of rising loads passes a limit, on a straight line between loads in the logarithm
 * of the p99. low: it has passed at the first one, which is returned; high: not even at the last
 * one.
 */
struct served_saturation {
    double load;
    bool low, high;
};
struct served_saturation served_saturate(const double *loads, const double *p99_ms, size_t n,
                                         double limit_ms);

#endif

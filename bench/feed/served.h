/*
 * Latencies of requests that come by a schedule, counted from when each was due, and their
 * statistics. PURE
 *
 * If no worker has begun a request when time is over, its latency is at least the time since it
 * came: a bound. Every percentile that reaches a bound is a bound. Bounds are stored as negative
 * numbers in the arrays of latencies.
 */
#ifndef CONTEND_BENCH_FEED_SERVED_H
#define CONTEND_BENCH_FEED_SERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One request, in ns from the beginning of the schedule. */
struct served_request {
    uint64_t at_ns;             /* when it was due */
    uint64_t begin_ns, done_ns; /* 0, 0: never begun */
};

/* The requests of one worker, in the order in which they come and are served. */
struct served {
    const struct served_request *requests;
    size_t n;
    uint64_t from_ns, to_ns; /* requests that come in [from_ns, to_ns) count */
    uint64_t over_ns;        /* when the worker gave up, at to_ns or later */
};

/* The requests that count: requests[first .. first + n - 1]. */
struct served_part {
    size_t first, n;
};
struct served_part served_counted(const struct served *served);

/* For each request that counts: ms from when it was due to when it was done, or minus the bound. */
void served_latencies(const struct served *served, double *late_ms);

/* For each request that counts and was begun: ms from then to when it was done, which a client of a
 * closed loop would see. Returns the number of values. */
size_t served_services(const struct served *served, double *service_ms);

/* Number of requests done in [from_ns, to_ns), whenever they came. */
size_t served_done(const struct served *served);

/* Raises worst_ms of each bin to the largest latency of the requests that came in it. There are n
 * bins of bin_ns from from_ns on; NaN = no request yet. Bounds count like latencies. */
void served_worst(const struct served *served, uint64_t bin_ns, double *worst_ms, size_t n);

/* Latencies of all workers, sorted; bounds count like latencies. */
struct served_all {
    double *ms; /* sorted, bounds without their sign; borrowed */
    size_t n;
    size_t unserved;
    double least_bound; /* INFINITY without bounds */
};
struct served_all served_sort(double *late_ms, size_t n);

struct served_value {
    double ms; /* NaN without requests */
    bool at_least;
};
/* The percentile at `fraction`, 0..1; 1 is the largest latency. */
struct served_value served_percentile(const struct served_all *all, double fraction);

/*
 * Whether n requests are enough for that percentile. Of n requests, n (1 - fraction) are expected
 * above the true percentile. If these are 10, then in 95 of 100 cases the share of requests above
 * the reported value is 0.5 to 1.8 times 1 - fraction (Poisson). If they are fewer than 1, the
 * percentile lies beyond the latest request. For fraction 1 any n > 0 is enough. Source: David and
 * Nagaraja, Order Statistics, 2003, 7.1.
 */
enum served_known { SERVED_BEYOND, SERVED_FEW, SERVED_KNOWN };
enum { SERVED_ABOVE = 10 };
enum served_known served_know(size_t n, double fraction);

/*
 * The load at which the p99 passes a limit; loads rise. Interpolates between two loads, linearly in
 * the logarithm of the p99. low: the p99 of the first load, which is returned, is past the limit;
 * high: not even that of the last load is.
 */
struct served_saturation {
    double load;
    bool low, high;
};
struct served_saturation served_saturate(const double *loads, const double *p99_ms, size_t n,
                                         double limit_ms);

#endif

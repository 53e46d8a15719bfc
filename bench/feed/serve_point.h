/*
 * One point of `serve`: all workers serve requests at once, each the requests of its own schedule.
 * The results are of all workers together.
 */
#ifndef CONTEND_BENCH_FEED_SERVE_POINT_H
#define CONTEND_BENCH_FEED_SERVE_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/feed/feed.h"

/*
 * Latencies of requests that come by a schedule, counted from when each was due, and their
 * statistics. PURE
 *
 * If no worker has begun a request when time is over, its latency is at least the time since it
 * came: a bound. Every percentile that reaches a bound is a bound. Bounds are stored as negative
 * numbers in the arrays of latencies.
 */

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

/*
 * Arrival times of requests, drawn from a seed before any request is served. So a slow server
 * does not delay later requests, as it would with clients that wait for their answers. PURE
 *
 * Poisson arrivals have independent gaps of -ln(u) / rate; bursts are `burst` requests at once,
 * with gaps of -ln(u) burst / rate between bursts. A seed draws the same gaps at every rate, scaled
 * by 1 / rate, so that only the rate differs.
 */
enum arrivals_pattern { ARRIVALS_POISSON, ARRIVALS_BURSTS, ARRIVALS_PATTERNS };

struct arrivals_params {
    enum arrivals_pattern pattern;
    double rate;    /* requests a second, above 0 */
    uint64_t burst; /* ARRIVALS_BURSTS only: requests that come at once, 1 or more */
    uint64_t seed;
    uint64_t span_ns;
};

/*
 * Writes the arrival times in [0, span_ns), in order, in ns, and returns their number. Writes at
 * most `most` times; returns `most` + 1 if there are more. With at_ns NULL it only counts.
 */
size_t arrivals_draw(const struct arrivals_params *params, uint64_t *at_ns, size_t most);

enum { SERVE_STATS = 4, SERVE_BINS_MOST = 200 };

/* "p50", "p99", "p99.9", "max". */
enum { SERVE_P50, SERVE_P99, SERVE_P999, SERVE_MAX };
extern const char *const serve_stats[];

/* Times since the beginning of a point, in ns. */
struct serve_times {
    uint64_t span_ns; /* requests come before this time */
    uint64_t from_ns; /* requests count from this time on, as in slice_begin */
    uint64_t over_ns; /* no request is begun after this time */
    uint64_t bin_ns;  /* length of a bin from from_ns on; the last bin may be shorter */
    size_t nbins;
};

struct serve_times serve_times_of(double point_s, double bin_s);

/*
 * Results of one point, from the requests that count, of all workers; empty in workers other than
 * worker 0.
 */
struct serve_point {
    enum arrivals_pattern pattern;
    unsigned load; /* % */
    struct serve_times times;
    size_t n, unserved;
    double offered, achieved; /* requests a second */
    struct served_value latency[SERVE_STATS];
    struct served_value service[SERVE_STATS];
    double worst_ms[SERVE_BINS_MOST]; /* NaN: no request came in the bin */
};

/* Whether the point has enough requests for that percentile. */
enum served_known serve_point_knows(const struct serve_point *point, unsigned stat);

/*
 * Seconds that a run of this point alone needs for that percentile to be known, at `rate` requests
 * a second of all workers; rounded up to 1, 2 or 5 times a power of ten. Not for SERVE_MAX.
 */
double serve_seconds_for(unsigned stat, double rate);

/* Measures a point by point->times. Collective. -E2BIG: too many requests for a worker to keep. */
int serve_point_measure(struct serve_point *point, const struct arrivals_params *arrivals,
                        struct feed *feed, const struct bench_ctx *ctx);

/*
 * Measures the rate of worker 0 in a closed loop while the other workers sleep: requests a second
 * into *rate. That is load 100 for all workers. Collective, in setup, before the background begins.
 * `behind`: workers of the background, which have a share of the CPUs, too. Errors are those of
 * feed_step, and -ENOMEM.
 */
int serve_alone(struct feed *feed, const struct bench_ctx *ctx, unsigned behind, double *rate);

#endif

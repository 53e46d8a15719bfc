/*
 * One point of `serve`: all workers serve requests at once, each the requests of its own schedule.
 * The results are of all workers together.
 */
#ifndef CONTEND_BENCH_FEED_SERVE_POINT_H
#define CONTEND_BENCH_FEED_SERVE_POINT_H

#include "bench/feed/arrivals.h"
#include "bench/feed/feed.h"
#include "bench/feed/served.h"

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

/* Serves one request. Errors are those of feed_step. */
int serve_request(struct feed *feed, const struct bench_ctx *ctx);

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

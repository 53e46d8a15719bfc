/*
 * One point of `serve`: the requests of a schedule, served by all workers at once, each its own,
 * and what all of them together were like.
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

/* From a point's beginning, in ns. */
struct serve_times {
    uint64_t span_ns; /* before which requests come */
    uint64_t from_ns; /* from when on they count: as slice_begin has it */
    uint64_t over_ns; /* when no further one is begun */
    uint64_t bin_ns;  /* of those that count; the last one may be shorter */
    size_t nbins;
};

struct serve_times serve_times_of(double point_s, double bin_s);

/*
 * Results of one point, from the requests of all workers that count; empty in workers other than 0.
 */
struct serve_point {
    enum arrivals_pattern pattern;
    unsigned load; /* % */
    struct serve_times times;
    size_t n, unserved;
    double offered, achieved; /* requests a second */
    struct served_value late[SERVE_STATS];
    struct served_value service[SERVE_STATS];
    double worst_ms[SERVE_BINS_MOST]; /* NaN: none came */
};

/* Whether its requests tell that percentile. */
enum served_known serve_point_knows(const struct serve_point *point, unsigned stat);

/*
 * How long a point alone has to be measured for that percentile to be known, at `rate` requests a
 * second of all workers: 1, 2 or 5 times a power of ten.
 */
double serve_seconds_for(unsigned stat, double rate);

/* One request from beginning to end. */
int serve_request(struct feed *feed, const struct bench_ctx *ctx);

/* Collective, as point->times has it. -E2BIG where more requests come than are kept. */
int serve_point_measure(struct serve_point *point, const struct arrivals_params *arrivals,
                        struct feed *feed, const struct bench_ctx *ctx);

/*
 * The rate of one worker in a closed loop while the others sleep, the load 100 of all: requests a
 * second into *rate. Collective, in setup, before the background begins: the others wait for worker
 * 0, and what it has found holds for all. `behind`: workers of the background that have a share of
 * the CPUs, too. As feed_step, and -ENOMEM.
 */
int serve_alone(struct feed *feed, const struct bench_ctx *ctx, unsigned behind, double *rate);

#endif

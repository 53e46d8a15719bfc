/*
 * A worker feeds its device with batches from loaders for a slice of time, and measures how long
 * the device has nothing to do.
 *
 *   rc = feeding_run(&feeding, ctx, LOAD_PROCESS, 4, share_s, &result);
 */
#ifndef CONTEND_BENCH_LOADER_FEEDING_H
#define CONTEND_BENCH_LOADER_FEEDING_H

#include "bench/device/device.h"
#include "bench/loader/load.h"
#include "bench/loader/process_pool.h"

/* FEEDING_IN_FLIGHT: batches that the device has; it works on one while the other is copied. */
enum {
    FEEDING_IN_FLIGHT = 2,
    FEEDING_PREFETCH_MOST = 2 * LOADERS_MOST,
    FEEDING_SLOTS_MOST = FEEDING_PREFETCH_MOST + FEEDING_IN_FLIGHT
};

struct feeding {
    struct device_queue device;
    struct queue queue;
    struct loader_pool loader_pool;
    unsigned prefetch;    /* batches ready or in the making; 0: two a loader */
    uint32_t epoch;       /* batches after which loaders are restarted; 0 = never */
    double gpu_s;         /* the device's work on gpu_batches */
    uint64_t gpu_batches; /* batches that the device has done */
    struct token last;    /* last batch that a run fed; its slot still holds it */
};

/* Results of one worker in the part of its slice that counts. err.code 0 = no error. */
struct feeding_result {
    struct err err;
    double seconds, batches;
    double starved_s; /* the device had nothing to do, and no batch was ready */
    double first_s;   /* from the loaders' start to their first batch, mean over starts; or NaN */
    double read_rate; /* bytes a second that loaders read from a file; or NaN */
    double cached;    /* share of the file in the page cache before the run */
};

/* Slots that a run needs. */
unsigned feeding_slots(unsigned prefetch, unsigned loaders);

/*
 * Collective: all workers begin at once. Errors of this worker's loaders and device are in
 * result->err; the return value has errors of the peers.
 */
int feeding_run(struct feeding *feeding, const struct bench_ctx *ctx, enum load_mode mode,
                unsigned loaders, double share_s, struct feeding_result *result);

/*
 * The points of a scan over numbers of loaders: which numbers, the results of all workers at each
 * point, and the verdict on each kind of loader. Pure.
 */
enum { SWEEP_COUNTS_MOST = 8, SWEEP_POINTS_MOST = LOAD_MODES * SWEEP_COUNTS_MOST };

struct point {
    enum load_mode mode;
    unsigned loaders;
    struct feeding_result
        result;  /* all workers: sums (batches: a second), mean first_s, most cached, first err */
    bool missed; /* a worker came too late for its slice */
};

/*
 * Counts 1, 2, 4 ... up to `most`. If `kinds` kinds with share_s for each count would take more
 * than room_s: 1, 4, 16 ..., or 1, 8 .... Returns the number of counts.
 */
unsigned sweep_counts(unsigned most, unsigned kinds, double share_s, double room_s,
                      unsigned counts[SWEEP_COUNTS_MOST]);

/* Joins the results of n workers. */
void sweep_join(struct point *point, const struct feeding_result *results, unsigned n);

/* False after an error, or if a worker came too late for its slice: the point has no value. */
bool sweep_has_values(const struct point *point);

/* Share of the time in which the device had nothing to do and no batch was ready. */
double sweep_starvation(const struct point *point);

/*
 * Judges the points of one kind, which have rising numbers of loaders, up to the first point
 * without values.
 */
struct sweep_verdict {
    size_t n;       /* points before the first one without values */
    size_t needed;  /* index of the first point that feeds the device; n = none */
    double scaling; /* batches of the best point / of the first; NaN: no second point or 0 */
    double more;    /* batches of the last point / of the best before it; NaN likewise */
};
struct sweep_verdict sweep_judge(const struct point *points, size_t n);

#endif

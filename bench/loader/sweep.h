/*
 * The points of a scan over numbers of loaders: which numbers, the results of all workers at each
 * point, and the verdict on each kind of loader. Pure.
 */
#ifndef CONTEND_BENCH_LOADER_SWEEP_H
#define CONTEND_BENCH_LOADER_SWEEP_H

#include "bench/loader/feeding.h"
#include "bench/loader/load.h"

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

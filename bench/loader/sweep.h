/*
 * The points of a scan over loaders: which counts of them, what the workers together saw at each,
 * and what follows for a kind. Pure.
 */
#ifndef CONTEND_BENCH_LOADER_SWEEP_H
#define CONTEND_BENCH_LOADER_SWEEP_H

#include "bench/loader/feeding.h"
#include "bench/loader/load.h"

enum { SWEEP_COUNTS_MOST = 8, SWEEP_POINTS_MOST = LOAD_MODES * SWEEP_COUNTS_MOST };

struct point {
    enum load_mode mode;
    unsigned loaders;
    struct fed fed; /* of all: sums, but first_s the mean, cached the most, err the first */
    bool missed;    /* by one of them */
};

/*
 * 1, 2, 4 ... up to `most`; or 1, 4, 16 ..., 1, 8 ... where so many kinds with `share_s` for each
 * count would take more than room_s. Returns how many counts.
 */
unsigned sweep_counts(unsigned most, unsigned kinds, double share_s, double room_s,
                      unsigned counts[SWEEP_COUNTS_MOST]);

/* All workers' into one. */
void sweep_join(struct point *point, const struct fed *fed, unsigned n);

/* A worker that came too late for its slice saw nothing of it: that is no value of the point. */
bool sweep_has_values(const struct point *point);

/* The share of the time in which the device had nothing to do, and no batch was ready. */
double sweep_starvation(const struct point *point);

/*
 * Judges the points of one kind, which have ever more loaders: up to where they could be measured.
 */
struct sweep_verdict {
    size_t n;       /* that could */
    size_t needed;  /* the first that feeds the device; n = none */
    double scaling; /* batches of the best over those of the first; NaN where that has none */
    double more;    /* of the last over the best before it; the same */
};
struct sweep_verdict sweep_judge(const struct point *points, size_t n);

#endif

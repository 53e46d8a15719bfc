/*
 * How many cores a worker needs: its work per second over the cores that it has, alone and beside
 * the others. Pure apart from allocation.
 *
 * Arms are the same placement with its slices cut to 1, 2, 3, 4, 6, 8, ... cores (plan_request's
 * cores_each), with all SMT siblings of a core, for one worker up to all cores and for all workers
 * up to their slices; all are measured in every round.
 *
 * Predicted for N workers of c cores each: N times what one does with c. Cores are whole, so SMT
 * siblings are shared within a worker alone, in both curves; workers that share a GPU together do
 * no more than one did at its best, times the GPUs. Memory bandwidth, caches and clocks are taken
 * as not shared, since nobody knows how much of them a worker takes: what that costs is the
 * prediction's error, which is always told beside it.
 */
#ifndef CONTEND_VERDICT_SEARCH_SIZING_H
#define CONTEND_VERDICT_SEARCH_SIZING_H

#include "harness/contract/finding.h"
#include "harness/engine/arms/arms.h"
#include "harness/rows/analysis.h"

/* A curve of work per second over cores. */
struct knee_point {
    unsigned cores; /* ascending */
    double rate;    /* NaN = not measured */
};

/* Index of the smallest count whose rate is within `share` of the best one; n without any. */
size_t knee_enough(const struct knee_point *points, size_t n, double share);

/*
 * Index of the knee of a curve that rises and flattens: with both axes scaled to 0..1, where it
 * lies furthest above the straight line between its ends (Kneedle: Satopaa, Albrecht, Irwin and
 * Raghavan 2011, without smoothing). n where it is nowhere a tenth above it, as a line is not.
 */
size_t knee_find(const struct knee_point *points, size_t n);

enum { SIZING_MOST = 40 };
/* A count of cores whose work is so near to the best is enough. */
#define SIZING_SHARE 0.05

/* Zeroed, then what is the caller's. */
struct sizing {
    const char *cores; /* counts to try, a list; NULL = chosen */
    size_t n;          /* from here on its own */
    struct variant variants[2 * SIZING_MOST];
};

/* Adds the arms: for struct arrange, `arg` is the struct sizing. The placement is the request's
 * first that binds workers to cores of their own. */
int sizing_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err);

/* Both curves, point by point; of the whole arms, work per second of all their workers. */
struct sizing_curves {
    unsigned workers; /* of the second curve; 1 = there is none */
    size_t n;
    struct knee_point alone[SIZING_MOST], all[SIZING_MOST]; /* of the same cores; NaN = none */
    double predicted[SIZING_MOST], error[SIZING_MOST];      /* (predicted - measured) / measured */
    double median_error, worst_error;                       /* of their sizes; NaN = none */
    size_t knee, enough, knee_all, enough_all;              /* points; n = none */
    const struct arm *arm;                                  /* any of them */
};

/* False where the analysis has no such arms. */
bool sizing_read(const struct analysis *analysis, struct sizing_curves *curves);

/* Appends the finding, with the command that gives workers so many cores. */
void sizing_judge(const struct analysis *analysis, struct findings *findings);

#endif

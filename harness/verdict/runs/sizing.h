/*
 * How many cores a worker needs: its throughput over its number of cores, alone and with the other
 * workers. Pure apart from allocation.
 *
 * Arms are one placement with its slices cut to 1, 2, 3, 4, 6, 8, ... cores (plan_request's
 * cores_each), with all SMT siblings of a core: for one worker up to all cores, and for all workers
 * up to their slices. Every round measures all of them.
 *
 * The prediction for N workers of c cores each is N times the throughput of one worker with c
 * cores. Cores are never split, so in both curves only one worker shares SMT siblings. Workers that
 * share GPUs are limited to the best of one worker, times the number of GPUs. Memory bandwidth,
 * caches and clocks are taken as not shared, since a worker's use of them is unknown. Their cost is
 * the prediction's error, which is always reported with it.
 */
#ifndef CONTEND_VERDICT_RUNS_SIZING_H
#define CONTEND_VERDICT_RUNS_SIZING_H

#include "harness/engine/arms.h"
#include "harness/lib/finding.h"
#include "harness/record/analysis.h"

/* A point of a curve of throughput over cores. */
struct knee_point {
    unsigned cores; /* ascending */
    double rate;    /* NaN = not measured */
    bool holds;     /* it keeps the run's --slo, if there is one */
};

/* The highest rate; NaN = none was measured. */
double knee_best(const struct knee_point *points, size_t n);

/* Index of the smallest count that holds, and whose rate is within `share` of the best; n if there
 * is none. */
size_t knee_enough(const struct knee_point *points, size_t n, double share);

/*
 * Index of the knee of a curve that rises and flattens. With both axes scaled to 0..1, the knee is
 * the point furthest above the straight line between the ends (Kneedle: Satopaa, Albrecht, Irwin
 * and Raghavan 2011, without smoothing). n if no point is more than 0.1 above the line.
 */
size_t knee_find(const struct knee_point *points, size_t n);

enum { SIZING_MOST = 40 };
/* A count of cores is enough if its rate is within this share of the best. */
#define SIZING_SHARE 0.05

/* Zeroed; then the caller sets cores. */
struct sizing {
    const char *cores; /* list of counts to try; NULL = chosen here */
    size_t n;          /* internal from here on */
    struct variant variants[2 * SIZING_MOST];
};

/* 1, 2, 3, 4, 6, 8, 12, 16, ... below `most`, then `most`. Returns how many. */
size_t sizing_choose_cores(unsigned most, unsigned cores[SIZING_MOST]);
/* Cores of the smallest slice for that number of workers; 0: the reason is in err. */
unsigned sizing_count_cores(const struct topo *topo, const struct arms_request *request,
                            enum placement placement, unsigned workers, struct err *err);

/* The first placement of the request that binds workers to cores of their own; -EINVAL: none. */
int sizing_find_placement(const struct arms_request *request, enum placement *placement,
                          struct err *err);

/* Adds the arm, of workers with so many cores each (0: all of their slice). Names `variant`, which
 * the arm borrows. */
struct sizing_arm {
    enum placement placement;
    unsigned workers, cores;
};
int sizing_add_arm(const struct topo *topo, const struct arms_request *request,
                   const struct sizing_arm *arm, struct variant *variant, struct result *result,
                   struct err *err);

/* Adds the arms: for struct arrange, `arg` is the struct sizing. Uses the first placement of the
 * request that binds workers to cores of their own. */
int sizing_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err);

/* Both curves, point by point; `all`: throughput of all workers together. */
struct sizing_curves {
    unsigned workers; /* of the second curve; 1 = no second curve */
    size_t n;
    struct knee_point solo[SIZING_MOST], all[SIZING_MOST]; /* same cores; NaN = not measured */
    double predicted[SIZING_MOST], error[SIZING_MOST];     /* (predicted - measured) / measured */
    double median_error, worst_error;          /* of the errors' magnitudes; NaN = none */
    size_t knee, enough, knee_all, enough_all; /* points; n = none */
    const struct arm *arm;                     /* any of the arms */
};

/* False if the analysis has no such arms. */
bool sizing_read(const struct analysis *analysis, struct sizing_curves *curves);

/* Appends the findings: the number of cores that is enough, or with --slo that keeps it, with the
 * command that gives it to workers, and the error of the prediction. */
void sizing_judge(const struct analysis *analysis, struct findings *findings);

#endif

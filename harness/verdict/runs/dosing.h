/*
 * The throughput that each placement keeps as contention increases: a curve over doses of
 * contention (lib/dose.h). Pure apart from allocation.
 *
 * There is one arm per placement and dose, including the idle one; every round measures all of
 * them. Retention is throughput under the dose / throughput without it, of the same placement in
 * the same round, so that drift of the machine cancels.
 */
#ifndef CONTEND_VERDICT_RUNS_DOSING_H
#define CONTEND_VERDICT_RUNS_DOSING_H

#include "harness/engine/arms.h"
#include "harness/lib/finding.h"
#include "harness/verdict/evidence.h"

enum { DOSING_LEVELS = 16, DOSING_ARMS = 96 };

/* Zeroed; then the caller sets doses. */
struct dosing {
    const char *doses; /* a list, as dose_parse_list reads it */
    struct variant variants[DOSING_ARMS];
};

/*
 * Adds the arms: for struct arrange, `arg` is the struct dosing. The placements are those that the
 * user named; of the scenario's own placements only `none` and `partition`. Uses its first part.
 */
int dosing_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err);

/* True if the benchmark has a value for curves. */
bool dosing_has(const struct bench *bench);

/* One placement under one dose. NaN = unknown. */
struct dosing_point {
    const struct arm *arm;     /* NULL = none */
    double rate;               /* of `what` */
    struct evidence retention; /* by round */
    double p99;                /* 99th percentile of step times / that without the dose */
    double held;               /* median over rounds of the level that the aggressors held */
};

struct dosing_curves {
    int kind;         /* enum dose_kind */
    unsigned workers; /* of each arm */
    /* Throughput. A scan has none: then its first gating metric where more is better, at the
     * largest size if it has sizes. */
    struct round_value what;
    size_t n; /* number of levels, idle first */
    double level[DOSING_LEVELS];
    size_t nplacements;
    enum placement placement[PLACEMENTS];
    struct dosing_point point[PLACEMENTS][DOSING_LEVELS];
};

/* False if the analysis has no such arms. */
bool dosing_read(const struct analysis *analysis, struct dosing_curves *curves);

/* The retention of workers that lose exactly the dose. */
double dosing_expected(int kind, double level);

/*
 * Appends the finding: what placements keep at the middle dose, fastest first; with the command of
 * the fastest placement if it also keeps the most.
 */
void dosing_judge(const struct analysis *analysis, struct findings *findings);

#endif

/*
 * How much of its throughput each placement keeps as others take more and more from its workers:
 * the curve over doses of contention (contract/dose.h). Pure apart from allocation.
 *
 * Arms are each placement under each dose, the one without contention among them; all are measured
 * in every round. Retention is throughput under the dose / throughput without it, of the same
 * placement in the same round, so that drift of the machine cancels.
 */
#ifndef CONTEND_VERDICT_SEARCH_DOSING_H
#define CONTEND_VERDICT_SEARCH_DOSING_H

#include "harness/contract/finding.h"
#include "harness/engine/arms/arms.h"
#include "harness/rows/analysis.h"

enum { DOSING_LEVELS = 16, DOSING_ARMS = 96 };

/* Zeroed, then what is the caller's. */
struct dosing {
    const char *doses; /* a list, as dose_parse_list reads it */
    struct variant variants[DOSING_ARMS];
};

/*
 * Adds the arms: for struct arrange, `arg` is the struct dosing. The placements are those that the
 * user named; of a scenario's own ones `none` and `partition`. Of its parts it takes the first.
 */
int dosing_arrange(void *arg, const struct topo *topo, const struct arms_request *request,
                   struct result *result, struct err *err);

/* Whether a benchmark has a value for curves. */
bool dosing_has(const struct bench *bench);

/* One placement under one dose. NaN = unknown. */
struct dosing_point {
    const struct arm *arm;         /* NULL = there is none */
    double rate;                   /* of `what` */
    struct paired_ratio retention; /* by round */
    double p99;                    /* 99th percentile of step times / that without the dose */
    double held;                   /* the level that aggressors held, in the median of rounds */
};

struct dosing_curves {
    int kind;         /* enum dose_kind */
    unsigned workers; /* of each arm */
    /* Throughput; of a scan, which has none, the value that compare gates and of which more is
     * better: the first one, at the largest size where it goes over sizes. */
    struct round_value what;
    size_t n; /* levels, from idle on */
    double level[DOSING_LEVELS];
    size_t nplacements;
    enum placement placement[PLACEMENTS];
    struct dosing_point point[PLACEMENTS][DOSING_LEVELS];
};

/* False where the analysis has no such arms. */
bool dosing_read(const struct analysis *analysis, struct dosing_curves *curves);

/* The retention of workers that lose the dose and no more. */
double dosing_expected(int kind, double level);

/*
 * Appends the finding: what placements keep at the middle dose, the fastest one first, and its
 * command where it also keeps the most.
 */
void dosing_judge(const struct analysis *analysis, struct findings *findings);

#endif

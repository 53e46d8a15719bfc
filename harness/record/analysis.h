/* Rounds, values and rows of a run, computed once and passed to every verdict and view. Pure. */
#ifndef CONTEND_RECORD_ANALYSIS_H
#define CONTEND_RECORD_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/result.h"
#include "harness/plan/plan.h"
#include "harness/record/rounds.h"
#include "harness/record/row.h"

struct analysis {
    const struct result *result; /* borrowed */
    struct rounds rounds;
    struct round_values values;
    struct rows rows;
    struct result *round;               /* owned: the result of a round alone; or NULL */
    struct recommendation *recommended; /* owned: of each arm (verdict/recommend.h), or NULL */
};

/* Errors: -ENOMEM only. Free with analysis_free, also after an error. Borrows from the result. */
int analysis_make(const struct result *result, struct analysis *analysis, struct err *err);
/* The same of one round alone, at the same cost in each round: a value compares with the baseline
 * of that round. */
int analysis_make_round(const struct result *result, unsigned round, struct analysis *analysis,
                        struct err *err);
void analysis_free(struct analysis *analysis);

/*
 * A view of `full` without its control arms (`is_control` of struct arm), for tables, figures and
 * advice. Fills `result`. The view borrows from `full` and from `result`; do not free it.
 */
struct analysis analysis_measured(const struct analysis *full, struct result *result);

/*
 * The arms of a run with several numbers of workers as curves: one per placement, over the number
 * of workers.
 */
enum { SCALING_COUNTS = 16 };

struct scaling {
    size_t ncounts, nplacements;
    unsigned counts[SCALING_COUNTS];       /* ascending */
    enum placement placements[PLACEMENTS]; /* in the order of the run */
    int arm[SCALING_COUNTS][PLACEMENTS];   /* index in result.arms; -1 = none, or it was skipped */
};

/*
 * False if the run has no curves: one number of workers, or more than SCALING_COUNTS; variants, or
 * settings made by a search; several benchmarks or sets of parameters.
 */
bool scaling_read(const struct result *result, struct scaling *scaling);

/*
 * Chooses the arms that each arm is compared with (METHOD, "Definitions"). Pure; part of
 * rounds_make. A solo run is one worker alone; with N = 1 workers every arm is a solo run.
 *
 * SLICE: the solo run with the highest median throughput over the rounds, among those that own at
 * most ceil(CPUs / N) CPUs under a disjoint placement or `same`. All placements of N workers share
 * it. SAME_PLACEMENT: the solo run under the same placement. SINGLE: the solo run under `none`.
 * IDLE: for a team under background load, the team without the load. BEST: the placement of as many
 * workers with the highest median throughput over the rounds. An arm that failed in a round, or is
 * known only as a bound, counts only if no other arm is left. `same` and `remote`, which exist for
 * comparison, come last.
 */

/* Fills `baseline` and `slices` of every arm. Needs `n` and `rate` of every arm. */
void baseline_choose(const struct result *result, struct rounds *rounds);

#endif

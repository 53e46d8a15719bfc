/* Rounds, values and rows of a run, computed once and passed to every verdict and view. Pure. */
#ifndef CONTEND_RECORD_ANALYSIS_H
#define CONTEND_RECORD_ANALYSIS_H

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

#endif

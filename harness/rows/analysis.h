/* All that is made of a run before anybody judges or shows it: once, and then handed on. Pure. */
#ifndef CONTEND_ROWS_ANALYSIS_H
#define CONTEND_ROWS_ANALYSIS_H

#include "harness/rows/row.h"

struct analysis {
    const struct result *result; /* borrowed */
    struct rounds rounds;
    struct round_values values;
    struct rows rows;
};

/* Free with analysis_free, also after an error: -ENOMEM only. Borrows from the result. */
int analysis_make(const struct result *result, struct analysis *analysis, struct err *err);
void analysis_free(struct analysis *analysis);

/*
 * The same without the arms that watch the machine (struct arm), for all that speaks of what was
 * measured: tables, figures, advice. Borrows from `one_shot`, and from `result`, which it fills;
 * not to be freed.
 */
struct analysis analysis_measured(const struct analysis *whole, struct result *result);

/* The chance that the sequential test of two arms errs. */
#define ANALYSIS_ALPHA 0.01

/* values_ratio of two arms, with the sequential test where the run has one; `slow` -1: of none.
 */
struct paired_ratio analysis_ratio(const struct analysis *analysis, int slow, size_t fast);
/* The same of another value than throughput. */
struct paired_ratio analysis_ratio_of(const struct analysis *analysis,
                                      const struct round_value *what, int slow, size_t fast);

#endif

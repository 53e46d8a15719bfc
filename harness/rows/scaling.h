/*
 * The arms of a run with several numbers of workers as curves: a placement each, over those
 * numbers.
 */
#ifndef CONTEND_ROWS_SCALING_H
#define CONTEND_ROWS_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/arms/result.h"
#include "harness/plan/placement/plan.h"

enum { SCALING_COUNTS = 16 };

struct scaling {
    size_t ncounts, nplacements;
    unsigned counts[SCALING_COUNTS];       /* ascending */
    enum placement placements[PLACEMENTS]; /* in the order of the run */
    int arm[SCALING_COUNTS][PLACEMENTS];   /* in result.arms; -1 = none, or it could not be had */
};

/*
 * False where there are no curves: one number of workers, variants or settings that a search made,
 * or several sets of parameters, of which each would have its own.
 */
bool scaling_read(const struct result *result, struct scaling *scaling);

#endif

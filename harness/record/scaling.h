/*
 * The arms of a run with several numbers of workers as curves: one per placement, over the number
 * of workers.
 */
#ifndef CONTEND_RECORD_SCALING_H
#define CONTEND_RECORD_SCALING_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/result.h"
#include "harness/plan/plan.h"

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

#endif

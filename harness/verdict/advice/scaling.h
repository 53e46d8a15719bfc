/* A run with several numbers of workers: which number does most, and how many are enough. */
#ifndef CONTEND_VERDICT_ADVICE_SCALING_H
#define CONTEND_VERDICT_ADVICE_SCALING_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * "workers": which number of workers, under which placement, does most per second by the median of
 * its rounds, and the fewest under the same placement that do 95% of it. Nothing is added where
 * there are no curves (rows/scaling.h).
 */
void scaling_find(const struct analysis *analysis, struct findings *findings);

#endif

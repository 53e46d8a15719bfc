/* A run with several numbers of workers: which number has the highest throughput, and how many are
 * enough. */
#ifndef CONTEND_VERDICT_ADVICE_SCALING_H
#define CONTEND_VERDICT_ADVICE_SCALING_H

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * Adds the finding "workers": the number of workers and the placement with the highest median
 * throughput, and the fewest workers under that placement that reach 95% of it. Only the
 * recommended placement counts, if there is one. Adds nothing without curves (rows/scaling.h).
 */
void scaling_find(const struct analysis *analysis, struct findings *findings);

#endif

/*
 * Canary rows, which every run has beside its own arms. What is measured in them is the same in all
 * runs of all versions, so what moved is the machine: clocks, neighbours, memory. Between runs they
 * are compared as all rows are (compare.h); here is what they are called, and how they moved within
 * a run. Pure.
 */
#ifndef CONTEND_VERDICT_RUNS_CANARY_H
#define CONTEND_VERDICT_RUNS_CANARY_H

#include <stddef.h>

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/* "copy of memory: 12% slower", "kernel on GPU 0: 3% faster"; of GPU cycles "more" and "fewer". */
char *canary_format(const char *metric, const struct dims *at, double ratio, char *buf,
                    size_t size);

/*
 * Within a run: a note where a metric's largest round is more than CANARY_STEADY from its smallest;
 * it says how many were so far from the median, as one odd round is not a machine that wanders.
 */
void canary_find(const struct analysis *analysis, struct findings *findings);

/* As a share: what rounds of a steady machine differ by. */
#define CANARY_STEADY 0.25

#endif

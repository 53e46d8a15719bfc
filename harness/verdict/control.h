/*
 * Control rows, which every run adds to its own arms. A control measures the same thing in
 * all runs of all versions, so a change of its value is a change of the machine: clocks,
 * neighbours, memory. compare.h compares controls between runs as all rows; this module names them,
 * and finds changes within a run. Pure.
 */
#ifndef CONTEND_VERDICT_CONTROL_H
#define CONTEND_VERDICT_CONTROL_H

#include <stddef.h>

#include "harness/lib/finding.h"
#include "harness/record/analysis.h"

/* "copy of memory: 12% slower", "kernel on GPU 0: 3% faster"; for GPU cycles "longer" and
 * "shorter". */
const char *control_format(const char *metric, const struct dims *at, double ratio);

/*
 * Adds a note if a metric's largest round is more than CONTROL_STEADY above its smallest. The note
 * counts the rounds that are that far from the median: one odd round is not an unsteady machine.
 */
void control_find(const struct analysis *analysis, struct findings *findings);

/* The range of rounds on a steady machine, as a share. */
#define CONTROL_STEADY 0.25

#endif

/* What one worker alone does, below the placements that are compared with it. */
#ifndef CONTEND_SHOW_TABLE_BASELINES_H
#define CONTEND_SHOW_TABLE_BASELINES_H

#include <stdio.h>

#include "harness/rows/analysis.h"

/*
 * "one worker alone on 1/2 of the CPUs: 5.00 k, 20.0 ms", of the placements of `slots` workers. "~"
 * where it was disturbed; where rounds differ by twice, and where its steps are not alike so that
 * rate and step do not agree, it says so. Nothing where there is none.
 */
void baselines_print(const struct analysis *analysis, unsigned slots, FILE *out);

#endif

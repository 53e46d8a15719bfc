/* Work per second over cores a worker, at 80 columns. */
#ifndef CONTEND_SHOW_SUMMARY_SIZING_H
#define CONTEND_SHOW_SUMMARY_SIZING_H

#include <stdio.h>

#include "harness/rows/analysis.h"

void sizing_print(const struct analysis *analysis, FILE *out, bool color);

#endif

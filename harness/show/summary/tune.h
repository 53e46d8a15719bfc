/* The settings of a tune, those of the search and those of fresh rounds, at 80 columns. */
#ifndef CONTEND_SHOW_SUMMARY_TUNE_H
#define CONTEND_SHOW_SUMMARY_TUNE_H

#include <stdio.h>

#include "harness/rows/analysis.h"

void tune_print(const struct analysis *analysis, FILE *out, bool color);

#endif

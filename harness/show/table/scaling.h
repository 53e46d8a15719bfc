/* Curves over numbers of workers, as numbers on 80 columns. */
#ifndef CONTEND_SHOW_TABLE_SCALING_H
#define CONTEND_SHOW_TABLE_SCALING_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/rows/analysis.h"

/*
 * A line for each number of workers: what they do per second and how efficiently, side by side for
 * each placement. Prints nothing where there are no curves (rows/scaling.h).
 */
void scaling_print(const struct analysis *analysis, FILE *out, bool color);

#endif

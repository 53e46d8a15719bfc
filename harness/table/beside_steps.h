/* What timed benchmarks emitted beside their steps, below a block of placements: 80 columns. */
#ifndef CONTEND_TABLE_BESIDE_STEPS_H
#define CONTEND_TABLE_BESIDE_STEPS_H

#include <stdio.h>

#include "harness/rows/row.h"

/*
 * A line for each of result->arms[order[0..n-1]], and for each of the first metrics that its
 * benchmark has of its own a column: the largest value and whose it is, "81% (rank 0)". Prints
 * nothing where no arm has any; rows.csv has all values.
 */
void beside_steps_print(const struct result *result, const struct rows *rows, const size_t *order,
                        size_t n, FILE *out);

#endif

/* What a scan measured over many sizes: a line a size, a column a metric. */
#ifndef CONTEND_SHOW_TABLE_BY_SIZE_H
#define CONTEND_SHOW_TABLE_BY_SIZE_H

#include <stdint.h>
#include <stdio.h>

#include "harness/rows/row.h"

/*
 * Metrics of an arm, whose rounds these are, that are shown `by_size`, where their sizes are too
 * many to stand side by side: those with the same sizes, from the first on as many as fit the
 * width, at least two. One table for each value of the part that their keys begin with, such as an
 * operation. `told`: bit i for metrics[i] of the benchmark when it stands in them, 0 when there is
 * no such table. -ENOMEM.
 */
int by_size_print(const struct result *result, const struct rows *rows, const struct arm *arm,
                  const struct arm_rounds *rounds, FILE *out, uint64_t *told);

#endif

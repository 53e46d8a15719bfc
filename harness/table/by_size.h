/* What a scan measured over many sizes: a line a size, a column a metric. */
#ifndef CONTEND_TABLE_BY_SIZE_H
#define CONTEND_TABLE_BY_SIZE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/rows/row.h"

/*
 * Metrics of an arm that share their sizes (part "size" of the keys), where these are too many to
 * stand side by side: from the first such metric on as many as fit the width, at least two. One
 * table for each value of the part that the keys begin with, such as an operation; keys that begin
 * with the size have none. `told`: bit i for metrics[i] of the benchmark when it stands in them, 0
 * when there is no such table. -ENOMEM.
 */
int by_size_print(const struct result *result, const struct rows *rows, const struct arm *arm,
                  FILE *out, uint64_t *told);

#endif

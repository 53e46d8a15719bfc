/* How much of their speed ranks keep under a background load, in the summary that `contend run`
 * prints at its end: 80 columns. */
#ifndef CONTEND_TABLE_RETENTION_H
#define CONTEND_TABLE_RETENTION_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/rows/row.h"

/*
 * Where the result has rows of `retention`: for each idle team a table with one line a size (or
 * whatever the keys are), and for each placement under load the value and the share that was kept;
 * then what the worst and the best placement keep, and the command that applies the best. Returns
 * whether it printed anything.
 */
bool retention_print(const struct result *result, const struct rows *rows, FILE *out, bool color);

#endif

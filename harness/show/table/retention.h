/* How much of their speed ranks keep under a background load, in the summary that `contend run`
 * prints at its end: 80 columns. */
#ifndef CONTEND_SHOW_TABLE_RETENTION_H
#define CONTEND_SHOW_TABLE_RETENTION_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/rows/analysis.h"

/*
 * Where the run has rows of `retention`: for each idle team a table with one line a size (or
 * whatever the keys are), and for each placement under load the value and the share that was kept.
 * -ENOMEM only.
 */
int retention_print(const struct analysis *analysis, FILE *out, bool color);

#endif

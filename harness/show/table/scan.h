/* What scans measured, in the summary that `contend run` prints at its end: 80 columns. */
#ifndef CONTEND_SHOW_TABLE_SCAN_H
#define CONTEND_SHOW_TABLE_SCAN_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/rows/rounds.h"
#include "harness/rows/row.h"

/*
 * One block an arm of a scan. Each metric is a small table along one part of its keys, thinned to
 * what fits; where keys are too many for that, such as pairs of CPUs, one line with the least, the
 * median and the most, and whose they are. Then what was skipped, failed or noisy, with its reason.
 * Prints nothing where the result has no scan. -ENOMEM only.
 */
int scan_print(const struct result *result, const struct rows *rows, const struct rounds *rounds,
               FILE *out, bool color);

#endif

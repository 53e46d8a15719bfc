/* The summary that `contend run` prints at its end: 80 columns, understood in ten seconds. */
#ifndef CONTEND_SHOW_TABLE_PLACEMENTS_H
#define CONTEND_SHOW_TABLE_PLACEMENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/rows/analysis.h"

/*
 * Prints a title, one block a worker count (worst placement first, with the ratio of its step time
 * to the best one's, paired by rounds), the baselines, and what scans measured (scan.h). What the
 * run says of itself is findings, which findings.h prints behind it. `color`: use ANSI colours (a
 * terminal); without, nothing is told by colour alone either.
 */
void placements_print(const struct analysis *analysis, FILE *out, bool color);

#endif

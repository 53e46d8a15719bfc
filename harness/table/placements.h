/* The summary that `contend run` prints at its end: 80 columns, understood in ten seconds. */
#ifndef CONTEND_TABLE_PLACEMENTS_H
#define CONTEND_TABLE_PLACEMENTS_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/rows/row.h"

/*
 * Prints a title, one block a worker count (worst placement first, with the ratio of its step time
 * to the best one's, paired by rounds), what was skipped or went wrong, the baselines, one closing
 * sentence and the command that applies it, and what scans measured (scan.h). `rows` are
 * those of `result`. `color`: use ANSI colours (a terminal); without, nothing is told by colour
 * alone either.
 */
void placements_print(const struct result *result, const struct rows *rows, FILE *out, bool color);

#endif

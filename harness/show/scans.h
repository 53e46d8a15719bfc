/* Tables of scans. */
#ifndef CONTEND_SHOW_SCANS_H
#define CONTEND_SHOW_SCANS_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"

/*
 * Adds a heading for each arm of a scan, and a table for each metric: one dimension along the
 * columns, the others down the lines. A table too wide for 80 columns is turned: the dimension goes
 * down the lines, and metrics with the same places share the table. If a metric has too many keys
 * for a table, such as pairs of CPUs, a sentence gives its least, median and largest value, and the
 * keys of the extremes.
 */
void scans_add_to_doc(const struct analysis *analysis, struct doc *doc);

/* How much of their speed ranks keep under a background load, as tables. */

/*
 * For a run with rows of `retention`: for each idle team (the ranks without the load) a table with
 * one line per size or other key, and per placement under load the value and the share kept.
 */
void retention_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif

/* A run of placements as tables, the worst placement first. */
#ifndef CONTEND_SHOW_RUN_H
#define CONTEND_SHOW_RUN_H

#include "harness/record/analysis.h"
#include "harness/show/doc.h"

/*
 * Adds a title; a table for each block (blocks.h), followed by its solo runs and by the metrics
 * that its arms emitted beside steps; a table over numbers of workers; and the values of scans.
 */
void run_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif

/* A run of placements: what each does, the worst first. */
#ifndef CONTEND_SHOW_RESULT_RUN_H
#define CONTEND_SHOW_RESULT_RUN_H

#include "harness/rows/analysis.h"
#include "harness/show/doc/doc.h"

/*
 * A title; a table for each block (blocks.h), with the workers alone below it and what its arms
 * emitted beside their steps; curves over numbers of workers; and what scans measured.
 */
void run_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif

/* Tables of scans. */
#ifndef CONTEND_SHOW_RESULT_SCANS_H
#define CONTEND_SHOW_RESULT_SCANS_H

#include "harness/rows/analysis.h"
#include "harness/show/doc/doc.h"

/*
 * A heading for each arm of a scan, and a table for each metric: one dimension along the columns,
 * the others down the lines. A sweep too long for 80 columns stands upright, beside those of other
 * metrics along the same places. Of keys too many for a table, such as pairs of CPUs, a sentence
 * has the least, the median and the most, and whose they are.
 */
void scans_add_to_doc(const struct analysis *analysis, struct doc *doc);

#endif

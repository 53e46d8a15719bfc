/* Comparisons as tables, both those of `compare` and those of `ab`. */
#ifndef CONTEND_SHOW_COMPARISON_H
#define CONTEND_SHOW_COMPARISON_H

#include "harness/show/doc.h"
#include "harness/verdict/comparison.h"

/*
 * Adds a table for each pair of sides: outcome, metric and unit, both medians, the change, its
 * interval and the reason. Rows are sorted by outcome, the worst first, below the name of their
 * arm. Metrics that do not gate follow, folded; those that only one side has are omitted. Adds
 * nothing without comparisons.
 */
void comparisons_add_to_doc(const struct comparisons *comparisons, struct doc *doc);

/* Adds the findings about the whole, these tables, and the other findings. */
void compared_add_to_doc(const struct comparisons *comparisons, const struct findings *findings,
                         struct doc *doc);

#endif

/* Comparisons, of compare and of ab, as tables: the one description of them. */
#ifndef CONTEND_SHOW_RESULT_COMPARISON_H
#define CONTEND_SHOW_RESULT_COMPARISON_H

#include "harness/show/doc/doc.h"
#include "harness/verdict/pairs/comparison.h"

/*
 * A table for each two sides: outcome, metric and unit, the medians of both, the change, its
 * interval and the reason; below each arm its metrics, the worst outcome
 * first. Folded behind those that gate the others, but what one side alone has. Nothing
 * where there is none.
 */
void comparisons_add_to_doc(const struct comparisons *comparisons, struct doc *doc);

/* The findings of the whole, these tables, and what else was found. */
void compared_add_to_doc(const struct comparisons *comparisons, const struct findings *findings,
                         struct doc *doc);

#endif

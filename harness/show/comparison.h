/* Comparisons as tables, both those of `compare` and those of `ab`. */
#ifndef CONTEND_SHOW_COMPARISON_H
#define CONTEND_SHOW_COMPARISON_H

#include "harness/record/fingerprint.h"
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

/* A fingerprint, and the comparison of two or more, as blocks for a person to read. */

/* Adds the number of values, the command that compares them with another fingerprint, and what was
 * measured, part by part. `path` is the fingerprint's file. */
void fingerprint_add_to_doc(const struct fingerprint *print, const char *path, struct doc *doc);

/* Adds the verdict; then for each value A, B, B relative to A, and the difference in units. */
void fingerprints_add_to_doc(const struct fingerprint *a, const struct fingerprint *b,
                             const struct fingerprint_distance *distance, struct doc *doc);

/* Adds how many of the ranked machines differ from their median; then each with its largest
 * difference. */
void fingerprint_fleet_add_to_doc(const struct fingerprint_machine *all, size_t n, struct doc *doc);

#endif

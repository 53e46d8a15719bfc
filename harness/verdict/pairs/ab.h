/*
 * The arms of two variants that were measured in the same rounds, compared pair by pair: `contend
 * ab`. Pure apart from allocation.
 *
 * Of each metric and key the logarithms of other / base, one a round, go through the sequential
 * test (sequential.h), at 1% for all that gate together: each has 1% / their number (Bonferroni,
 * which holds however they depend on each other; throughput and step time are nearly the same
 * thing. A mean of the evidence of all would need no such division, but could not say which one
 * changed). Those that do not gate share 1% of their own. FASTER and SLOWER: the interval excludes
 * no change. SAME: it lies within the threshold. UNCLEAR otherwise, with how many more rounds it
 * probably takes.
 */
#ifndef CONTEND_VERDICT_PAIRS_AB_H
#define CONTEND_VERDICT_PAIRS_AB_H

#include "harness/rows/analysis.h"
#include "harness/verdict/pairs/comparison.h"

/* Of all comparisons that gate together. */
#define AB_ALPHA 0.01

/*
 * Appends those of each variant behind the first one, with that one, of result->variants. Free with
 * comparisons_free, also after an error: -ENOMEM only.
 */
int ab_compare(const struct analysis *analysis, struct comparisons *comparisons, struct err *err);

/* Whether more rounds would change nothing that gates: none is UNCLEAR. */
bool ab_is_clear(const struct comparisons *comparisons);

#endif

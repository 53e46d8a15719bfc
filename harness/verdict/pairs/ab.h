/*
 * Compares the arms of two variants that were measured in the same rounds, pair by pair: `contend
 * ab`. Pure apart from allocation.
 *
 * Pairs exist within one run only. For each metric and key, the sequential test (sequential.h)
 * takes the logarithms of other / base, one per round. It may be looked at after every round.
 *
 * Clearly different: the evidence against "no change" is at least 1/AB_ALPHA, and so is its mean
 * with that of any other gating comparisons. This is a closed test (Marcus, Peritz and Gabriel
 * 1976) by means of evidence (Vovk and Wang 2021). So if nothing changed, the chance that any
 * gating comparison is called changed is AB_ALPHA in total, however often one looks. If all of them
 * changed, none needs more evidence because of the others. Comparisons that do not gate are a
 * family of their own. The test assumes that two equal arms get independent draws of one
 * distribution within a round, of any form and a new one in each round (sequential.h describes the
 * error where this fails). At least six rounds are needed.
 *
 * FASTER and SLOWER: clearly different. SAME: the interval, at 1 - AB_ALPHA, lies within the
 * threshold. Otherwise UNCLEAR, with an estimate of how many more rounds are needed.
 */
#ifndef CONTEND_VERDICT_PAIRS_AB_H
#define CONTEND_VERDICT_PAIRS_AB_H

#include "harness/rows/analysis.h"
#include "harness/verdict/pairs/comparison.h"

/* The chance of an error over all gating comparisons. */
#define AB_ALPHA 0.01

/*
 * Appends the comparisons of each further variant with the first one of result->variants. Free with
 * comparisons_free, also after an error: -ENOMEM only.
 */
int ab_compare(const struct analysis *analysis, struct comparisons *comparisons, struct err *err);

/* True if no gating comparison is UNCLEAR, so that more rounds would not change the outcome. */
bool ab_is_clear(const struct comparisons *comparisons);

#endif

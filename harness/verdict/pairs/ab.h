/*
 * The arms of two variants that were measured in the same rounds, compared pair by pair: `contend
 * ab`. Pure apart from allocation.
 *
 * The engine within a run. Of each metric and key the logarithms of other / base, one a round, go
 * through the sequential test (sequential.h), which may be looked at after every round.
 *
 * Clearly different: the evidence against "no change" is 1/AB_ALPHA, and so is the mean of it and
 * of that of any others that gate: a closed test (Marcus, Peritz and Gabriel 1976) by means of
 * evidence (Vovk and Wang 2021). So of all that gate together, however often one looks, the chance
 * to call any changed with nothing changed is AB_ALPHA; where all of them changed none pays for the
 * others. Those that do not gate are a family of their own. It assumes that two equal arms get
 * independent draws of one distribution within a round, of any form and a new one in each round
 * (sequential.h says what is left where that fails). At least six rounds are needed.
 *
 * FASTER and SLOWER: clearly different. SAME: the interval, at 1 - AB_ALPHA, lies within the
 * threshold. UNCLEAR otherwise, with how many more rounds it probably takes.
 */
#ifndef CONTEND_VERDICT_PAIRS_AB_H
#define CONTEND_VERDICT_PAIRS_AB_H

#include "harness/rows/analysis.h"
#include "harness/verdict/pairs/comparison.h"

/* The chance of an error over all gating comparisons. */
#define AB_ALPHA 0.01

/*
 * Appends those of each variant behind the first one, with that one, of result->variants. Free with
 * comparisons_free, also after an error: -ENOMEM only.
 */
int ab_compare(const struct analysis *analysis, struct comparisons *comparisons, struct err *err);

/* Whether more rounds would change nothing that gates: none is UNCLEAR. */
bool ab_is_clear(const struct comparisons *comparisons);

#endif

/* Says what keeps a row of one side apart from the rows of the other: another placement, or other
 * options. Pure. */
#ifndef CONTEND_VERDICT_RUNS_APART_H
#define CONTEND_VERDICT_RUNS_APART_H

#include "harness/verdict/pairs/comparison.h"
#include "harness/verdict/runs/pairing.h"

/*
 * For a pair that only one side has. Appends "only in base" to the comparison's reason and, if the
 * other side has the metric at the same key under other options, in what the nearest row differs:
 * "only in base: placement is none in base, sized in new". The first such text of a gating
 * comparison goes to `comparisons`, too.
 */
void apart_explain(const struct pairing *pairing, const struct pair *pair,
                   const struct pairing_runs sides[PAIRING_SIDES], struct comparison *comparison,
                   struct comparisons *comparisons);

#endif

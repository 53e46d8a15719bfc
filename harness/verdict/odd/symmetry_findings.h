/* The symmetry verdict as findings. Pure. */
#ifndef CONTEND_VERDICT_ODD_SYMMETRY_FINDINGS_H
#define CONTEND_VERDICT_ODD_SYMMETRY_FINDINGS_H

#include "harness/contract/finding.h"
#include "harness/machine/topo/topo.h"
#include "harness/verdict/odd/symmetry.h"

/*
 * Appends one finding a unit that is odd, by its worst comparison; then what cannot be decided,
 * then how alike the others are; nothing where nothing was compared. `topo` gives PCI addresses; it
 * may be NULL. -ENOMEM only. Ids:
 *   unit_odd       of a unit, "GPU 2 (0000:00:08.0)", "GPU 0 to GPU 3", "from GPU 2 (...)",
 *                  "rank 5"; bad. The evidence is its ratio to its peers, below 1 also where less
 *                  is better, its robust z-score, and how many are compared
 *   units_differ   two, of which nobody can say which is odd
 *   units_split    too many are worse to be called odd
 *   units_apart    none is odd, but least and most are far from each other
 *   units_alike    within how much of each other; a note
 * The three before that are doubts, or, where the worst GPU was at its power limit, notes that say
 * so
 * and more_units_odd, more_units_undecided for how many of them are not told. All but unit_odd are
 * of the subject "symmetry".
 */
int symmetry_findings(const struct symmetry *symmetry, const struct topo *topo,
                      struct findings *findings, struct err *err);

#endif

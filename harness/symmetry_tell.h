/* The symmetry verdict for people, at 80 columns, and for run.json. */
#ifndef CONTEND_SYMMETRY_TELL_H
#define CONTEND_SYMMETRY_TELL_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "harness/symmetry_rows.h"
#include "harness/topo.h"

/* Distances between nodes and the topology's GPUs, for symmetry_make. Borrows topo. */
struct symmetry_distance symmetry_topo_distance(const struct topo *topo);

/*
 * One sentence a unit that is odd, with its worst comparison, then what cannot be decided, then how
 * alike the others are; an empty line before. Nothing where nothing was compared. `color`: a
 * terminal. `topo` gives PCI addresses; it may be NULL.
 */
void symmetry_tell(const struct symmetry *symmetry, const struct topo *topo, FILE *out, bool color);

/*
 * [{"bench", "placement", "params", "metric", "unit", "better", "of": "gpu"|"rank"|"pair", "key",
 *   "units", "verdict": "none"|"alike"|"odd"|"two"|"split", "typical", "spread",
 *   "odd": [{"of", "id", "other", "pci_bdf", "value", "ratio", "z"}]}]
 * One a comparison; [] for NULL. NULL: no memory. The caller owns the result.
 */
json_t *symmetry_to_json(const struct symmetry *symmetry, const struct topo *topo);

#endif

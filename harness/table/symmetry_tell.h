/* The symmetry verdict for people, at 80 columns. */
#ifndef CONTEND_TABLE_SYMMETRY_TELL_H
#define CONTEND_TABLE_SYMMETRY_TELL_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/judge/symmetry.h"
#include "harness/machine/topo.h"

/*
 * One sentence a unit that is odd, with its worst comparison, then what cannot be decided, then how
 * alike the others are; an empty line before. Nothing where nothing was compared. `color`: a
 * terminal. `topo` gives PCI addresses; it may be NULL.
 */
void symmetry_tell(const struct symmetry *symmetry, const struct topo *topo, FILE *out, bool color);

#endif

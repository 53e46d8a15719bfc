/* Marks on the horizontal axis of lines: where, what they say, and where there is room for that. */
#ifndef CONTEND_SHOW_DATA_MARKS_H
#define CONTEND_SHOW_DATA_MARKS_H

#include "harness/show/data/dat.h"

/*
 * Writes the block of data->figure's marks that lie between the ends of the axis: 1 place, 2 1 =
 * solid, 0 = dotted, 3 row of the text (0 the lowest), 4 1 = the text goes to the left, 5 text.
 */
void marks_put(const struct figure_data *data, const struct arm *arm, const double ends[static 2],
               FILE *out);

#endif

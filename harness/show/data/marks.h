/* Marks on the horizontal axis of lines: where, what they say, and where there is room for that. */
#ifndef CONTEND_SHOW_DATA_MARKS_H
#define CONTEND_SHOW_DATA_MARKS_H

#include "harness/show/data/dat.h"

/*
 * Writes the block of data->figure's marks that lie between the ends of the axis: `row` of the text
 * is 0 the lowest, and it goes to the left of its mark or to the right.
 */
void marks_put(const struct figure_data *data, const struct arm *arm, const double ends[static 2],
               FILE *out);

#endif

/*
 * Heat maps, in the .dat form that plots/heat_map.gp reads: a heading with HEAT_COLUMNS, then
 * heat_put. Axis 0 is horizontal (columns), axis 1 vertical (lines).
 */
#ifndef CONTEND_SHOW_FIGURES_HEAT_H
#define CONTEND_SHOW_FIGURES_HEAT_H

#include <stddef.h>
#include <stdio.h>

#include "harness/engine/contract/figure.h"

#define HEAT_COLUMNS "lines low high repeats colour_label x_label y_label columns counts"

enum { HEAT_AXES = 2, HEAT_TEXT = 32 };

struct heat {
    unsigned n[HEAT_AXES];
    const double *value; /* n[1] lines of n[0] columns; NaN = none */
    double low, high;    /* the range of the colour scale */
    const char *colours, *labels[HEAT_AXES];
    enum figure_ticks ticks;
    unsigned printed_most; /* cells hold numbers if neither axis is longer than this */
    const void *arg;
    const char *(*name)(const void *arg, unsigned axis, unsigned place);
    const char *(*format_cell)(const void *arg, size_t cell);
};

void heat_put(const struct heat *heat, FILE *out);

#endif

/*
 * Line charts, in the .dat form that plots/line_chart.gp reads. Write in this order: a heading with
 * CURVES_COLUMNS, then curves_put_axes, then the marks if any (marks.h) with a block "crosses" of
 * "x y" for the points to mark on lines, then one block of points per line.
 */
#ifndef CONTEND_SHOW_FIGURES_CURVES_H
#define CONTEND_SHOW_FIGURES_CURVES_H

#include "harness/engine/contract/figure.h"
#include "harness/show/figures/names.h"

#define CURVES_COLUMNS                                                                             \
    "x_text y_text panels names lines x_log x_bytes y_log x_low x_high y_low y_high y_from "       \
    "y_counts x_counts steps"

struct curves {
    struct names panels, names; /* no `panels`: one panel without a name */
    size_t n;                   /* lines; caller writes CURVES_LINES rows; 0: one line per name */
    struct figure_axis x, y;
    bool steps;
    double x_ends[2], y_ends[2];
};

void curves_put_axes(const struct curves *curves, FILE *out);

#define CURVES_LINES "lines", "number panel name"
/* Begins the block of points of one line. */
void curves_put_line(size_t line, FILE *out);
/* `low` and `high`, the interval, may be NaN. */
void curves_put_point(double x, double y, double low, double high, FILE *out);

#endif

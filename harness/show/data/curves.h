/*
 * Line charts, as plots/line_chart.gp reads them: a heading with CURVES_COLUMNS, then
 * curves_put_axes, and where there are any marks (marks.h), of which a block "crosses" of "x y" has
 * the places on lines.
 * Behind them a block of points a line.
 */
#ifndef CONTEND_SHOW_DATA_CURVES_H
#define CONTEND_SHOW_DATA_CURVES_H

#include "harness/contract/figure.h"
#include "harness/show/data/names.h"

#define CURVES_COLUMNS                                                                             \
    "x_text y_text panels names lines x_log x_bytes y_log x_low x_high y_low y_high y_from "       \
    "y_counts x_counts steps"

struct curves {
    struct names panels, names; /* none of `panels`: one, which has none */
    size_t n;                   /* lines, whose panels and names the caller writes; 0: one a name */
    struct figure_axis x, y;
    bool steps;
    double x_ends[2], y_ends[2];
};

void curves_put_axes(const struct curves *curves, FILE *out);

#define CURVES_LINES "lines", "number panel name"
/* Begins the block of a line. */
void curves_put_line(size_t line, FILE *out);
/* The interval may be NaN. */
void curves_put_point(double x, double y, double low, double high, FILE *out);

#endif

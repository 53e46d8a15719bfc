/*
 * The .dat file of a figure: blocks of named columns. The gnuplot script in plots/ reads blocks and
 * columns by name. A block is a line "# NAME", a line with the column names and a line for each
 * row; two empty lines separate blocks. The first block, the heading, has no name and one row:
 * title, subtitle, footnote, and the columns that the script needs. A matrix has no column names.
 */
#ifndef CONTEND_SHOW_FIGURES_DAT_H
#define CONTEND_SHOW_FIGURES_DAT_H

#include <stddef.h>
#include <stdio.h>

#include "harness/engine/contract/figure.h"
#include "harness/lib/err.h"
#include "harness/record/analysis.h"

/* Most characters: of a row's reason as figures show it; of any text in a file. */
enum { DAT_REASON_MOST = 70, DAT_TEXT_MOST = 300 };

/* The input of every figure; all borrowed. */
struct figure_data {
    const struct analysis *analysis;
    const struct result *result; /* of `analysis` */
    const char *host;
    const struct bench *bench; /* owner of the figure; NULL: a figure of steps */
    const struct bench_figure *figure;
};

/*
 * Writers of one .dat file. They return 0, -ENOMEM, or -ENODATA with a reason when the run has
 * nothing to draw. The caller checks `out` for write errors.
 */
typedef int figure_writer(const struct figure_data *data, FILE *out, struct err *err);
/* steps.c, throughput.c, occupancy.c */
figure_writer figure_efficiency, figure_step_time, figure_loss, figure_throughput, figure_occupancy;
/* Line charts over the number of workers: throughput.c */
figure_writer figure_workers, figure_workers_efficiency;
/* Line chart of a sizing: sizing.c */
figure_writer figure_sizing;
figure_writer figure_mix;
figure_writer figure_predict;
/* Line chart over doses of contention: dosing.c */
figure_writer figure_dosing;
/* These draw data->figure: lines.c, bar_chart.c, heat_map.c. */
figure_writer figure_lines, figure_bars, figure_heat, figure_dots;

/*
 * A quoted text value for fprintf: `dat_text(name, 40).quoted`. It has at most `most` characters
 * between the quotes; characters outside [A-Za-z0-9 ._:;/()+,%-] become '_'. '%' is safe: the
 * scripts never use data as a format.
 */
struct dat_text {
    char quoted[DAT_TEXT_MOST + 3];
};
struct dat_text dat_text(const char *text, size_t most);

/* Writes the heading. The caller appends the values of `columns`, each after a blank. */
void dat_begin(const char *title, const char *subtitle, const char *footnote, const char *columns,
               FILE *out);

/* Begins the next block; `columns` is "" for a matrix. */
void dat_block(const char *name, const char *columns, FILE *out);

/*
 * dat_begin for a figure of steps. The subtitle has the host and `how`; the footnote lists
 * placements that this machine cannot express. `workers` 0: their number differs between lines.
 */
void dat_put_heading(const struct figure_data *data, const char *what, unsigned workers,
                     const char *how, const char *columns, FILE *out);

/* For `how`: "WHAT. Medians and ranges of 3 rounds". WHAT may be ""; `plural`: "" or "s". Returns
 * buf. */
const char *dat_format_rounds(const struct figure_data *data, const char *what, const char *plural);

/*
 * dat_begin for data->figure. The device is not named, but a simulated one is marked. The footnote
 * gives the status of `arm`, the arm shown, unless it is ok; `rest` follows.
 */
void dat_put_figure_heading(const struct figure_data *data, const struct arm *arm, const char *how,
                            const char *rest, const char *columns, FILE *out);

/* The first arm of data->bench with a value of `metric`, or NULL. */
const struct arm *dat_find_arm(const struct figure_data *data, const char *metric);

/* For the footnote of a figure that shows one arm: "Placement none only. Others are in rows.csv" if
 * other arms have the figure's metric, else "". */
const char *dat_format_only(const struct figure_data *data, const struct arm *arm);

/* Bars, in the form that plots/bar_chart.gp reads: columns of the heading and of the block "bars".
 * The blocks "places" and "names" (names.h) go with them. */
#define BARS_HEADING "x_text y_text places bars y_end y_from"
#define BARS_COLUMNS "place number value low high text"

/* The largest 1, 2 or 5 times a power of ten that is <= value, or the smallest that is >= it. */
double dat_round_125(double value, bool up);

/* Texts of a figure in the order of their addition; blocks of .dat files number them from 0. */
enum { NAMES_MOST = 16 };

struct names {
    size_t n;
    const char *name[NAMES_MOST]; /* of the arena */
};

/* Returns the index of `text`, and adds it if it is new; NAMES_MOST: no room. */
size_t names_place(struct names *names, const char *text);

/* Adds `text` even if it is there already. Returns its index; NAMES_MOST: no room. */
size_t names_add(struct names *names, const char *text);

/* Writes the block `block` with the columns "number name". */
void names_put(const struct names *names, const char *block, FILE *out);

/*
 * Line charts, in the .dat form that plots/line_chart.gp reads. Write in this order: a heading with
 * CURVES_COLUMNS, then curves_put_axes, then the marks if any (series.h) with a block "crosses" of
 * "x y" for the points to mark on lines, then one block of points per line.
 */

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

/*
 * Heat maps, in the .dat form that plots/heat_map.gp reads: a heading with HEAT_COLUMNS, then
 * heat_put. Axis 0 is horizontal (columns), axis 1 vertical (lines).
 */

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

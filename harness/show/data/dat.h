/*
 * The .dat file of each figure: blocks of named columns, which its script of plots/ reads by these
 * names. A block is a line "# NAME", a line of its columns' names and a line for each of its rows;
 * two empty lines part it from the next. The first, the heading, has no name and one row: title,
 * subtitle, footnote, and what the script asks for. A matrix has no names of columns.
 */
#ifndef CONTEND_SHOW_DATA_DAT_H
#define CONTEND_SHOW_DATA_DAT_H

#include <stdio.h>

#include "harness/contract/figure.h"
#include "harness/lib/base/err.h"
#include "harness/rows/analysis.h"

/* As long as the reason of a row is told; as a text of a file is. */
enum { DAT_REASON_MOST = 70, DAT_TEXT_MOST = 300 };

/* The source of all figures; borrowed. */
struct figure_data {
    const struct analysis *analysis;
    const struct result *result; /* of that */
    const char *host;
    const struct bench *bench; /* whose figure it is, and which; NULL: one of steps */
    const struct bench_figure *figure;
};

/*
 * Writers of one file. They return 0, -ENOMEM, or -ENODATA with a reason when there is nothing to
 * draw; whether the bytes arrived is for the caller to ask of `out`.
 */
typedef int figure_writer(const struct figure_data *data, FILE *out, struct err *err);
/* steps.c, throughput.c, occupancy.c */
figure_writer figure_efficiency, figure_step_time, figure_loss, figure_throughput, figure_occupancy;
/* The same, as the kind FIGURE_LINES has it: workers.c */
figure_writer figure_workers, figure_workers_efficiency;
/* The curves of a sizing, as the kind FIGURE_LINES: sizing.c */
figure_writer figure_sizing;
/* The same of doses: dosing.c */
figure_writer figure_dosing;
/* For data->figure: line_chart.c, bar_chart.c, heat_map.c, dot_chart.c. */
figure_writer figure_lines, figure_bars, figure_heat, figure_dots;

/*
 * A value of a column that is text, for fprintf: `dat_text(name, 40).quoted`. Between quotes stand
 * at most `most` characters; what is not in [A-Za-z0-9 ._:;/()+,%-] becomes '_'. A '%' is only
 * text, as scripts make no format of what comes from data.
 */
struct dat_text {
    char quoted[DAT_TEXT_MOST + 3];
};
struct dat_text dat_text(const char *text, size_t most);

/* The heading but for the values of `columns`, which the caller writes, each behind a blank. */
void dat_begin(const char *title, const char *subtitle, const char *footnote, const char *columns,
               FILE *out);

/* Begins another block; "" of a matrix. */
void dat_block(const char *name, const char *columns, FILE *out);

/*
 * dat_begin of a figure of steps, with what the run says of itself and the placements that this
 * machine cannot express. `workers` 0: the figure has several.
 */
void dat_put_heading(const struct figure_data *data, const char *what, unsigned workers,
                     const char *how, const char *columns, FILE *out);

/* "WHAT. Medians and ranges of 3 rounds": for `how`. WHAT may be "", and the plural "s", too.
 * Returns buf. */
const char *dat_format_rounds(const struct figure_data *data, const char *what, const char *plural,
                              char *buf, size_t size);

/*
 * dat_begin of data->figure, without the device. The footnote says when `arm`, the one that is
 * shown, is noisy; `rest` goes behind that.
 */
void dat_put_figure_heading(const struct figure_data *data, const struct arm *arm, const char *how,
                            const char *rest, const char *columns, FILE *out);

/* The first arm of data->bench that has a row of that metric with a value, or NULL. */
const struct arm *dat_find_arm(const struct figure_data *data, const char *metric);

/* For the footnote, "Placement none only. Others are in rows.csv", where other arms have the
 * figure's metric, too, for what shows but that one; else "". */
void dat_format_only(const struct figure_data *data, const struct arm *arm, char *buf, size_t size);

/* Bars, as plots/bar_chart.gp reads them: of the heading, of the block "bars"; beside that there
 * are "places" and "names" (names.h). */
#define BARS_HEADING "x_text y_text places bars y_end y_from"
#define BARS_COLUMNS "place number value low high text"

/* The largest 1, 2 or 5 times a power of ten that is <= value, or the smallest that is >= it. */
double dat_round_125(double value, bool up);

#endif

/*
 * The .dat file of each figure; the script of plots/ lists what its blocks and columns mean.
 */
#ifndef CONTEND_SHOW_DATA_DAT_H
#define CONTEND_SHOW_DATA_DAT_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/engine/arms/result.h"
#include "harness/rows/rounds.h"
#include "harness/rows/row.h"

/* As long as the reason of a row is told. */
enum { DAT_REASON_MOST = 70 };

/* What all figures are made from; borrowed. */
struct figure_data {
    const struct result *result;
    const struct rows *rows;
    const struct rounds *rounds; /* of the same result, as the next */
    const struct round_values *values;
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
/* Of a sizing, as the kind FIGURE_LINES has it: sizing.c */
figure_writer figure_sizing;
/* Of data->figure: line_chart.c, bar_chart.c, heat_map.c, dot_chart.c. */
figure_writer figure_lines, figure_bars, figure_heat, figure_dots;

/*
 * At most `most` characters of a text; what is not in [A-Za-z0-9 ._:/()+,%-] becomes '_'. A '%' is
 * only text, as scripts make no format of what comes from data.
 */
void dat_put_clean(FILE *out, const char *text, size_t most);

/*
 * Writes ` "text"`, safe inside a data file: see dat_put_clean.
 */
void dat_put_text(FILE *out, const char *text, size_t most);

/*
 * Block 0 up to the footnote: ` "TITLE" "SUBTITLE" "FOOTNOTE"`, with what the run says of itself
 * and the placements that this machine cannot express. `workers` 0: the figure has several.
 */
void dat_put_heading(const struct figure_data *data, const char *what, unsigned workers,
                     const char *how, FILE *out);

/* "WHAT. Medians and ranges of 3 rounds": for `how`. Returns buf. */
const char *dat_say_rounds(const struct figure_data *data, const char *what, char *buf,
                           size_t size);

/*
 * The same for data->figure, without the device. The footnote says when `arm`, the one that is
 * shown, is noisy; `rest` goes behind that.
 */
void dat_put_figure_heading(const struct figure_data *data, const struct arm *arm, const char *how,
                            const char *rest, FILE *out);

/* The first arm of data->bench that has a row of that metric with a value, or NULL. */
const struct arm *dat_find_arm(const struct figure_data *data, const char *metric);

/* For the footnote, "Placement none only. Others are in rows.csv" and `end`, where other arms have
 * the figure's metric, too, for what shows but that one; else "". Returns buf. */
const char *dat_say_only(const struct figure_data *data, const struct arm *arm, const char *end,
                         char *buf, size_t size);

/*
 * gnuplot does not count empty blocks, so each one starts with a line that draws nothing; one with
 * text above the upper edge, as gnuplot 5.4 crashes when no label of a plot has a place.
 */
void dat_start_block(FILE *out, const char *nothing);

/* "\n\n": ends a block of a .dat file. */
void dat_end_block(FILE *out);

/* The largest 1, 2 or 5 times a power of ten that is <= value, or the smallest that is >= it. */
double dat_round_125(double value, bool up);

#endif

/* The lines of a figure: which arms it shows, in which order, and the label of each. */
#ifndef CONTEND_SHOW_FIGURES_LINES_H
#define CONTEND_SHOW_FIGURES_LINES_H

#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/show/figures/dat.h"

/* Order from the top: by part of the scenario, then by placement, then by number of workers. */
struct lines {
    size_t n;
    size_t *arm;      /* owned; index in result->arms */
    unsigned workers; /* of every line; 0 = they differ */
};

/*
 * Takes all arms that the machine can express, except baselines and scans. The figure's heading
 * lists the skipped placements. -ENODATA: no such arm; -ENOMEM.
 */
int lines_make(const struct figure_data *data, struct lines *lines, struct err *err);
void lines_free(struct lines *lines);

/* Adds the slice baselines, one for each number of workers, at the top. Call it once. */
void lines_add_baselines(const struct figure_data *data, struct lines *lines);

const struct arm *lines_arm(const struct figure_data *data, const struct lines *lines, size_t line);

/* "numa, 4 workers": the placement, and what distinguishes this line. */
const char *lines_format_label(const struct figure_data *data, const struct lines *lines,
                               size_t line);

/*
 * The share of its throughput that a line loses, of which a figure says lines_lost_to: 1 - parallel
 * efficiency, or without solo runs 1 - its share of the best line of its part. NaN: unknown.
 */
double lines_lost(const struct figure_data *data, const struct lines *lines, size_t line);
const char *lines_lost_to(const struct figure_data *data, const struct lines *lines);

/* "95% lost", "at least 99.2% lost", "no loss", or "" if it is unknown. */
const char *lines_format_lost(const struct figure_data *data, const struct lines *lines,
                              size_t line);

/* What all lines call a step: bench_step_name. */
const char *lines_step_name(const struct figure_data *data, const struct lines *lines);

/* lines_format_label as a column value. */
struct dat_text lines_text(const struct figure_data *data, const struct lines *lines, size_t line);

/* Why a line has no value of `metric`: "skipped: no P/E cores". */
const char *lines_format_why(const struct figure_data *data, const struct lines *lines, size_t line,
                             const char *metric);

#endif

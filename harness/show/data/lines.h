/* The lines of a figure: which arms it shows, in which order, and what each is called. */
#ifndef CONTEND_SHOW_DATA_LINES_H
#define CONTEND_SHOW_DATA_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/lib/base/err.h"
#include "harness/show/data/dat.h"

/* From the top: part by part of the scenario, placement by placement, by number of workers. */
struct lines {
    size_t n;
    size_t *arm;      /* owned; index in result->arms */
    unsigned workers; /* that all have, 0 = they differ */
};

/*
 * All arms that are neither baselines nor scans, and that the machine could express; the heading
 * names the others. -ENODATA: there are none; -ENOMEM.
 */
int lines_make(const struct figure_data *data, struct lines *lines, struct err *err);
void lines_free(struct lines *lines);

/* Puts the slice baseline of each number of workers on top. Call it once. */
void lines_add_baselines(const struct figure_data *data, struct lines *lines);

const struct arm *lines_arm(const struct figure_data *data, const struct lines *lines, size_t line);

/* "numa, 4 workers", with only what tells this line from others behind the placement. */
char *lines_format_label(const struct figure_data *data, const struct lines *lines, size_t line,
                         char *buf, size_t size);

/* That as the text of a column. */
struct dat_text lines_text(const struct figure_data *data, const struct lines *lines, size_t line);

/* "skipped: no P/E cores", of a line without a value of that metric. Returns buf. */
char *lines_format_why(const struct figure_data *data, const struct lines *lines, size_t line,
                       const char *metric, char *buf, size_t size);

#endif

/* The lines of a figure: which arms it shows, in which order, and what each is called. */
#ifndef CONTEND_PLOT_LINES_H
#define CONTEND_PLOT_LINES_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/base/err.h"
#include "harness/plot/dat.h"

/* From the top: part by part of the scenario, placement by placement, by number of workers. */
struct report_lines {
    size_t n;
    size_t *arm;      /* owned; index in result->arms */
    unsigned workers; /* that all have, 0 = they differ */
};

/*
 * All arms that are neither baselines nor scans, and that the machine could express; the heading
 * names the others. -ENODATA: there are none; -ENOMEM.
 */
int report_lines_make(const struct report *report, struct report_lines *lines, struct err *err);
void report_lines_free(struct report_lines *lines);

/* Puts the slice baseline of each number of workers on top. Call it once. */
void report_lines_add_baselines(const struct report *report, struct report_lines *lines);

const struct arm *report_lines_arm(const struct report *report, const struct report_lines *lines,
                                   size_t line);

/* Writes ` "numa, 4 workers"`, with only what tells this line from others behind the placement. */
void report_lines_put_label(const struct report *report, const struct report_lines *lines,
                            size_t line, FILE *out);

#endif

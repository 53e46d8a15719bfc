/*
 * The .dat file of each figure; plots/<figure>.gp lists what its blocks and columns mean.
 */
#ifndef CONTEND_REPORT_DATA_H
#define CONTEND_REPORT_DATA_H

#include <stdio.h>

#include "harness/result.h"
#include "harness/row.h"
#include "harness/summary.h"

/* What all figures are made from; borrowed. */
struct report {
    const struct result *result;
    const struct rows *rows;
    const struct summary *summary; /* of the same result */
    const char *host;
};

/*
 * Writers of one file. They return 0, -ENOMEM, or -ENODATA with a reason when there is nothing to
 * draw; whether the bytes arrived is for the caller to ask of `out`.
 */
typedef int report_writer(const struct report *report, FILE *out, struct err *err);
report_writer report_write_efficiency, report_write_step_time, report_write_loss,
    report_write_occupancy;

/*
 * Writes ` "text"`, safe inside a data file: what is not in [A-Za-z0-9 ._:/()+,-] becomes '_', and
 * more than `most` characters are cut.
 */
void report_put_text(FILE *out, const char *text, size_t most);

/*
 * Block 0 up to the footnote: ` "TITLE" "SUBTITLE" "FOOTNOTE"`, with what the run says of itself
 * and the placements that this machine cannot express. `workers` 0: the figure has several.
 */
void report_put_heading(const struct report *report, const char *what, unsigned workers,
                        const char *how, FILE *out);

/* "\n\n": ends a block of a .dat file. */
void report_end_block(FILE *out);

#endif

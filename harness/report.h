/*
 * Figures of a run: <out>/plots/ with efficiency, step_time, loss and occupancy, each as SVG, PNG
 * and the .dat file it was drawn from.
 *
 * The scripts of plots/ are inside the program; to draw a figure again, changed or elsewhere:
 * `cd <out>/plots && gnuplot .../plots/common.gp .../plots/loss.gp`.
 */
#ifndef CONTEND_REPORT_H
#define CONTEND_REPORT_H

#include "harness/core/err.h"
#include "harness/result.h"
#include "harness/row.h"

/*
 * `title_host` describes the machine in the figures' subtitles; what is not in
 * [A-Za-z0-9 ._:/()+,-] becomes '_'. Without gnuplot it says so once, keeps the .dat files and
 * returns 0. Errors: -ENOMEM, -EIO and -ETIMEDOUT from gnuplot, and what writing the files gives;
 * a figure that failed leaves neither SVG nor PNG, the others are complete.
 */
int report_plots(const struct result *result, const struct rows *rows, const char *title_host,
                 int out_dir_fd, struct err *err);

#endif

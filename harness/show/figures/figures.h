/*
 * Figures of a run: <out>/plots/, each as SVG, PNG and the .dat file it was drawn from. Runs with
 * steps have throughput, efficiency, step_time, loss and occupancy; the others are those of the
 * benchmarks (contract/figure.h).
 *
 * The scripts of plots/ are inside the program. To draw a figure with another script:
 * `cd <out>/plots && gnuplot -e "figure='loss'" .../plots/common.gp .../plots/loss.gp`. Of a
 * benchmark's figure the first line of the .dat file names the script: "# contend heat_map".
 */
#ifndef CONTEND_SHOW_FIGURES_FIGURES_H
#define CONTEND_SHOW_FIGURES_FIGURES_H

#include <stdbool.h>

#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/rows/analysis.h"

/*
 * `title_host` describes the machine in the figures' subtitles; what is not in
 * [A-Za-z0-9 ._:/()+,%-] becomes '_'. `pictures` false: only the .dat files. Without gnuplot it
 * says so once, keeps the .dat files and returns 0. Errors: -ENOMEM, those of gnuplot_run, and what
 * writing the files gives; a figure that failed leaves neither SVG nor PNG, the others are
 * complete. A file of the name of a figure that is there already is not of this run, nor of one
 * that figures_remove has removed: it stays, and the figure is left out. `signals` (or NULL) end
 * the drawing at once, with -EINTR.
 */
int figures_draw(const struct analysis *analysis, const char *title_host, bool pictures,
                 int directory_fd, struct signals *signals, struct err *err);

/*
 * Removes every figure of an earlier run, and plots/ where nothing else is in it. Where plots is a
 * link nothing is removed.
 */
void figures_remove(int directory_fd);

/*
 * Draws the figures again whose .dat files are in that directory, and calls `drawn` with the name
 * of each that went well. A figure that gnuplot fails on loses its pictures, all else leaves them
 * as they were. `plots_fd` is of plot_files_open. Errors: -ENODATA there is none, -ENOENT gnuplot
 * is not installed, and as above.
 */
int figures_redraw(int plots_fd, struct signals *signals,
                   void (*drawn)(void *arg, const char *name), void *arg, struct err *err);

#endif

/*
 * The figures of a run: <out>/plots/ has each as SVG, PNG and the .dat file that it was drawn from.
 * Runs with steps have throughput, efficiency, step_time, loss and occupancy; the others come from
 * the benchmarks (engine/contract/figure.h).
 *
 * The scripts of plots/ are compiled into the program. To draw a figure with another script:
 *
 *   cd <out>/plots && gnuplot -e "figure='loss'" .../plots/common.gp .../plots/loss.gp
 *
 * The first line of the .dat file of a benchmark's figure names its script: "# contend heat_map".
 */
#ifndef CONTEND_SHOW_FIGURES_FIGURES_H
#define CONTEND_SHOW_FIGURES_FIGURES_H

#include <stdbool.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/record/analysis.h"

/*
 * `title_host` describes the machine in the figures' subtitles; characters other than those of
 * dat_text become '_'. `pictures` false: only the .dat files. Without gnuplot, the function logs
 * that once, keeps the .dat files and returns 0. Errors: -ENOMEM, those of gnuplot_run, and those
 * of writing files; a figure that failed leaves neither SVG nor PNG, the others are complete. If a
 * file with a figure's name exists already (figures_remove removes those of earlier runs), the file
 * stays and the figure is left out. `signals` (or NULL) end the drawing at once, with -EINTR.
 */
int figures_draw(const struct analysis *analysis, const char *title_host, bool pictures,
                 int directory_fd, struct signals *signals, struct err *err);

/*
 * Removes the figures of an earlier run, and plots/ if it is then empty; nothing if plots is a
 * link.
 */
void figures_remove(int directory_fd);

/*
 * Draws again each figure that has a .dat file in that directory, and calls `drawn` with the name
 * of each that succeeds. A figure on which gnuplot fails loses its pictures; after other errors
 * they stay. `plots_fd` is from plot_files_open. Errors: -ENODATA no such file, -ENOENT gnuplot is
 * not installed, and those of figures_draw.
 */
int figures_redraw(int plots_fd, struct signals *signals,
                   void (*drawn)(void *arg, const char *name), void *arg, struct err *err);

#endif

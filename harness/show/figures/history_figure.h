/* The figure of a history: the runs of one machine over time, with the changes that were found. */
#ifndef CONTEND_SHOW_FIGURES_HISTORY_FIGURE_H
#define CONTEND_SHOW_FIGURES_HISTORY_FIGURE_H

#include "harness/lib/sys/signals.h"
#include "harness/verdict/runs/history.h"

/*
 * Writes history.dat, .svg and .png into plots/ of that directory, and creates both if they are
 * missing. The history must be judged. Panels: up to HISTORY_PANELS series, those that changed most
 * first, and the control's (canary) that changed most. Without gnuplot it logs that and keeps the
 * .dat file. Errors: those of gnuplot_run and of writing files.
 */
enum { HISTORY_PANELS = 6 };
int history_figure_draw(const struct history *history, const char *machine, const char *directory,
                        struct signals *signals, struct err *err);

#endif

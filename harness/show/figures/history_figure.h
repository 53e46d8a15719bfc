/* The figure of a history: the runs of one machine in time, with the changes that were found. */
#ifndef CONTEND_SHOW_FIGURES_HISTORY_FIGURE_H
#define CONTEND_SHOW_FIGURES_HISTORY_FIGURE_H

#include "harness/lib/sys/signals.h"
#include "harness/verdict/runs/history.h"

/*
 * Writes history.dat, .svg and .png into plots/ of that directory, which is made where it is not
 * there: of a judged history the figures that changed the most, then others, up to
 * HISTORY_PANELS, and the canary's that changed the most. Without gnuplot it says so and keeps the
 * .dat file. Errors: those of gnuplot_run and of writing files.
 */
enum { HISTORY_PANELS = 6 };
int history_figure_draw(const struct history *history, const char *machine, const char *directory,
                        struct signals *signals, struct err *err);

#endif

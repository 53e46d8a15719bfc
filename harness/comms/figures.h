/*
 * Figures of the traffic over NCCL, in plots/ of a directory of logs: comms_bytes (between GPUs),
 * comms_timeline (bytes over time by collective), comms_sizes (calls by size).
 */
#ifndef CONTEND_COMMS_FIGURES_H
#define CONTEND_COMMS_FIGURES_H

#include "harness/comms/view.h"
#include "harness/lib/sys/signals.h"

enum { COMMS_DRAWN_GPUS = 1024 }; /* with more GPUs no map is drawn */

/*
 * Writes the .dat files, and draws them. A figure without data is left out, and its earlier files
 * are removed. Without gnuplot it logs that once and returns 0. Errors: those of gnuplot_run and of
 * writing files. `signals` may be NULL.
 */
int comms_figures_draw(const struct comms_view *view, int dir_fd, struct signals *signals,
                       struct err *err);

#endif

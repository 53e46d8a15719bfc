/*
 * Runs gnuplot on the scripts of this program, without a shell, with limited time, memory and file
 * size.
 *
 * Data from the machine or the user goes into data files, never into a script. gnuplot does not
 * read the user's start-up files, so that a figure looks the same for everyone. It reads and writes
 * memory only, so it leaves no files behind if it or this program is killed.
 */
#ifndef CONTEND_SHOW_FIGURES_GNUPLOT_H
#define CONTEND_SHOW_FIGURES_GNUPLOT_H

#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"

/* Time limit for one figure. */
enum { GNUPLOT_LIMIT_S = 60 };

struct gnuplot_job {
    const char *name;       /* [a-z0-9_]+; scripts read it from the variable `figure` */
    const char *scripts[2]; /* run in this order, for a page (`narrow` 0), then for a phone (1);
                               the variables data_file, svg_file and png_file name the files */
    int rc;                 /* out: 0 or a negative errno */
};

/*
 * Draws all jobs, two at a time, each for at most timeout_s seconds. It reads NAME.dat of that
 * directory, which another user may control (files.h), and writes its pictures
 * (plot_suffixes) beside it. It tries all jobs, stores each result in its job and returns the first
 * failure. `signals` (or NULL) end it at once. Errors: -ENOENT no gnuplot on PATH, -EINTR asked to
 * stop, -ETIMEDOUT, -EIO with gnuplot's last message, and those of plot_files_read, plot_files_put,
 * fork and memfd_create.
 */
int gnuplot_run(int dir_fd, struct gnuplot_job *jobs, size_t njobs, double timeout_s,
                struct signals *signals, struct err *err);

#endif

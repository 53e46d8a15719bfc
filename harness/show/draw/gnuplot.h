/*
 * Runs gnuplot on scripts of our own, without a shell, with limited time, memory and files.
 *
 * Anything from the machine or the user belongs into data files, never into a script. The user's
 * own start-up files are not read, so that a figure looks the same for everyone. gnuplot reads and
 * writes memory only: it leaves nothing behind, whatever ends it or the program.
 */
#ifndef CONTEND_SHOW_DRAW_GNUPLOT_H
#define CONTEND_SHOW_DRAW_GNUPLOT_H

#include <stddef.h>

#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"

/* The time limit of a figure. */
enum { GNUPLOT_LIMIT_S = 60 };

struct gnuplot_job {
    const char *name;       /* [a-z0-9_]+; the scripts find it in the variable `figure` */
    const char *scripts[2]; /* run one after the other; the names of its files are in data_file,
                               svg_file and png_file */
    int rc;                 /* out: 0, or how it failed */
};

/*
 * Draws all jobs, two at a time, each for at most timeout_s seconds: from NAME.dat of that
 * directory, which may be somebody else's (files.h), NAME.svg and NAME.png beside it. All are
 * tried; the first failure is returned and each is in its job. `signals` (or NULL) end it at once.
 * Errors: -ENOENT no gnuplot on PATH, -EINTR asked to stop, -ETIMEDOUT, -EIO with gnuplot's last
 * words, those of plot_files_read and plot_files_put, and what fork and memfd_create give.
 */
int gnuplot_run(int dir_fd, struct gnuplot_job *jobs, size_t njobs, double timeout_s,
                struct signals *signals, struct err *err);

#endif

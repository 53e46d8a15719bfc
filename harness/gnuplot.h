/*
 * Runs gnuplot on scripts of our own, without a shell, in a directory and for a limited time.
 *
 * Anything from the machine or the user belongs into data files, never into a script. The user's
 * own start-up files are not read, so that a figure looks the same for everyone.
 */
#ifndef CONTEND_GNUPLOT_H
#define CONTEND_GNUPLOT_H

#include <stddef.h>

#include "harness/core/err.h"

struct gnuplot_job {
    const char *name;       /* [a-z_]+; the scripts find it in the variable `figure` */
    const char *scripts[2]; /* run one after the other */
    int rc;                 /* out: 0, or how it failed */
};

/*
 * Runs all jobs, two at a time, with dir_fd as their working directory, each for at most timeout_s
 * seconds. All are tried; the first failure is returned and each is in its job. Errors: -ENOENT no
 * gnuplot on PATH, -ETIMEDOUT, -EIO with gnuplot's last words, and what fork and memfd_create
 * give.
 */
int gnuplot_run(int dir_fd, struct gnuplot_job *jobs, size_t njobs, double timeout_s,
                struct err *err);

#endif

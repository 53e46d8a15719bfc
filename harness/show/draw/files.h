/*
 * Files below the directory plots of a result, which may be somebody else's: no link is followed
 * there, only regular files of a bounded size are read, and what is written appears whole, as a new
 * file under its name.
 */
#ifndef CONTEND_SHOW_DRAW_FILES_H
#define CONTEND_SHOW_DRAW_FILES_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/lib/base/err.h"

/*
 * The most that is read of a .dat file. The largest figure is a matrix of pairs of CPUs, some 8
 * bytes a cell: 8 MiB at 1024 CPUs.
 */
enum { PLOT_DATA_MAX_MIB = 64 };

/*
 * Opens plots in the directory of a result, and makes it before where `make` says so. Returns a
 * descriptor, or a negative errno: -ENOENT it is not there, -ENOTDIR it is a link or a file.
 */
int plot_files_open(int directory_fd, bool make, struct err *err);

/* An empty file in memory, gone with its last descriptor; or a negative errno. */
int plot_files_memory(struct err *err);

/*
 * Of all the following the file is NAME with that suffix: "loss", ".dat".
 *
 * Copies it into memory. Returns that descriptor, or a negative errno: -EINVAL no regular file,
 * -EFBIG more than PLOT_DATA_MAX_MIB, and what opening and reading give.
 */
int plot_files_read(int plots_fd, const char *name, const char *suffix, struct err *err);

/*
 * Writes NAME.dat whole, from what `write` puts into `out`, or nothing where that gives another
 * than 0, which is then returned.
 */
typedef int plot_writer(const void *arg, FILE *out, struct err *err);
int plot_files_write_data(int plots_fd, const char *name, plot_writer *write, const void *arg,
                          struct err *err);

/* Writes all of `from_fd` as that file, in the place of one that has the name. */
int plot_files_put(int plots_fd, const char *name, const char *suffix, int from_fd,
                   struct err *err);

/* Whatever has the name: is it there, and away with it. */
bool plot_files_has(int plots_fd, const char *name, const char *suffix);
void plot_files_remove(int plots_fd, const char *name, const char *suffix);
void plot_files_remove_all(int plots_fd, const char *name);

#endif

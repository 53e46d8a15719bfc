/*
 * Files in the directory plots of a result, which another user may control. The functions follow no
 * link, read only regular files of a bounded size, and write each file whole, as a new file.
 */
#ifndef CONTEND_SHOW_FIGURES_FILES_H
#define CONTEND_SHOW_FIGURES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "harness/engine/contract/figure.h"
#include "harness/lib/err.h"

/*
 * Size limit of a .dat file. The largest figure is a matrix of pairs of CPUs with about 8 bytes a
 * cell: 8 MiB at 1024 CPUs.
 */
enum { PLOT_DATA_MAX_MIB = 64 };

/* The pictures of a figure: for a page, and for a screen as narrow as a phone's. */
enum plot_picture { PLOT_SVG, PLOT_PNG, PLOT_NARROW_SVG, PLOT_NARROW_PNG, PLOT_PICTURES };
extern const char *const plot_suffixes[PLOT_PICTURES];

/*
 * Opens plots in the directory of a result; `make` creates it first if it is missing. Returns a
 * descriptor, or a negative errno: -ENOENT plots is missing, -ENOTDIR it is a link or a file.
 */
int plot_files_open(int directory_fd, bool make, struct err *err);

/* Creates a file in memory, freed with its last descriptor. Returns that or a negative errno. */
int plot_files_memory(struct err *err);

/*
 * All functions below name a file by NAME and suffix: "loss", ".dat".
 *
 * plot_files_read copies the file into memory. It returns a descriptor of the copy, or a negative
 * errno: -EINVAL not a regular file, -EFBIG more than PLOT_DATA_MAX_MIB, or an error of open or
 * read.
 */
int plot_files_read(int plots_fd, const char *name, const char *suffix, struct err *err);

/*
 * Writes NAME.dat with what `write` prints into `out`. If `write` returns an error, no file is
 * written and that error is returned.
 */
typedef int plot_writer(const void *arg, FILE *out, struct err *err);
int plot_files_write_data(int plots_fd, const char *name, plot_writer *write, const void *arg,
                          struct err *err);

/* Writes all of `from_fd` as that file, and replaces an existing one. */
int plot_files_put(int plots_fd, const char *name, const char *suffix, int from_fd,
                   struct err *err);

/* These test and remove any kind of file of that name, without following links. */
bool plot_files_has(int plots_fd, const char *name, const char *suffix);
void plot_files_remove(int plots_fd, const char *name, const char *suffix);
void plot_files_remove_pictures(int plots_fd, const char *name);
void plot_files_remove_all(int plots_fd, const char *name); /* and the data */

/*
 * Finds figures of benchmarks in a directory, which may come from another version or another user.
 * The first line of a .dat file names the script of plots/ that draws it: "# contend line_chart".
 */

/* Limit of the search. */
enum { FOUND_MOST = 128 };

struct found {
    char name[FIGURE_NAME_MAX]; /* always [a-z0-9_]+ */
    enum figure_kind kind;
};

/* Writes the first line of a .dat file. */
void found_put_kind(enum figure_kind kind, FILE *out);

/*
 * Finds the files that have such a first line. Sorted by name; returns how many. Follows no link
 * and reads only regular files.
 */
size_t found_list(int plots_fd, struct found found[static FOUND_MOST]);

#endif

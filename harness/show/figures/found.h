/*
 * Finds figures of benchmarks in a directory, which may come from another version or another user.
 * The first line of a .dat file names the script of plots/ that draws it: "# contend line_chart".
 */
#ifndef CONTEND_SHOW_FIGURES_FOUND_H
#define CONTEND_SHOW_FIGURES_FOUND_H

#include <stddef.h>
#include <stdio.h>

#include "harness/engine/contract/figure.h"

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

/*
 * Figures of benchmarks in a directory, which may be of another version or of somebody else. The
 * first line of their .dat files says what draws them: "# contend line_chart", a script of plots/.
 */
#ifndef CONTEND_SHOW_DRAW_FOUND_H
#define CONTEND_SHOW_DRAW_FOUND_H

#include <stddef.h>
#include <stdio.h>

#include "harness/contract/figure.h"

/* As many are looked for. */
enum { FOUND_MOST = 128 };

struct found {
    char name[FIGURE_NAME_MAX]; /* [a-z0-9_]+, whatever the directory holds */
    enum figure_kind kind;
};

/* Writes the first line. */
void found_put_kind(enum figure_kind kind, FILE *out);

/*
 * Those that have such a first line, by name, also where only a .dat.tmp was left; returns how
 * many. No link is followed, and nothing is read but regular files.
 */
size_t found_list(int plots_fd, struct found found[static FOUND_MOST]);

#endif

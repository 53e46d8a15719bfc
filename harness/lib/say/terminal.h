/* The other end of a file descriptor: whether it is a terminal, its width, and its abilities. */
#ifndef CONTEND_LIB_SAY_TERMINAL_H
#define CONTEND_LIB_SAY_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal, or fewer where COLUMNS says so; 0 = it is none, or nobody knows. */
unsigned terminal_columns(int fd);

/* Its rows; 0 = it is none, or nobody knows. */
unsigned terminal_rows(int fd);

/* A terminal that takes escape sequences: it has a name (TERM), and that is not "dumb". */
bool terminal_has_escapes(int fd);

/* One that is to have colors, too: NO_COLOR is unset, or empty (no-color.org). */
bool terminal_has_color(int fd);

#endif

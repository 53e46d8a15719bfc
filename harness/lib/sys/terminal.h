/* Whether a file descriptor is a terminal, its size, and its abilities. */
#ifndef CONTEND_LIB_SYS_TERMINAL_H
#define CONTEND_LIB_SYS_TERMINAL_H

#include <stdbool.h>

/* Columns of the terminal, or COLUMNS if that is less; 0 = no terminal, or unknown. */
unsigned terminal_columns(int fd);

/* Rows of the terminal; 0 = no terminal, or unknown. */
unsigned terminal_rows(int fd);

/* True for a terminal that accepts escape sequences: TERM is set, and is not "dumb". */
bool terminal_has_escapes(int fd);

/* The same, and colors are wanted: NO_COLOR is unset or empty (no-color.org). */
bool terminal_has_color(int fd);

#endif

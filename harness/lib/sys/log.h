/* One line on stderr, prefixed with the program's name. Data never goes here; logs never to stdout.
 */
#ifndef CONTEND_LIB_SYS_LOG_H
#define CONTEND_LIB_SYS_LOG_H

#include <stdbool.h>
#include <stddef.h>

void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* While quiet, nothing is logged: in a job of several ranks, only rank 0 logs. */
void log_set_quiet(bool quiet);

/*
 * A progress bar with an estimate of the time left, on stderr. Only drawn on a terminal that can
 * erase a line.
 */

/* Shows label and progress. expected_s: expected total time. Borrows label until the next call. */
void progress_set(const char *label, size_t done, size_t total, double expected_s);

/* Redraws, so that the clock moves. */
void progress_tick(void);

/* Erases the bar, until the next progress_set. */
void progress_end(void);

struct progress {
    const char *label;
    size_t done, total;
    double left_s;
};

/*
 * Writes the bar for a terminal of that many columns, never longer. On a narrow terminal the bar
 * has fewer cells, then none, and then the label is cut. Returns buf.
 */
char *progress_format(const struct progress *progress, unsigned columns, char *buf, size_t size);

/* Whether a file descriptor is a terminal, its size, and its abilities. */

/* Columns of the terminal, or COLUMNS if that is less; 0 = no terminal, or unknown. */
unsigned terminal_columns(int fd);

/* Rows of the terminal; 0 = no terminal, or unknown. */
unsigned terminal_rows(int fd);

/* True for a terminal that accepts escape sequences: TERM is set, and is not "dumb". */
bool terminal_has_escapes(int fd);

/* The same, and colors are wanted: NO_COLOR is unset or empty (no-color.org). */
bool terminal_has_color(int fd);

#endif

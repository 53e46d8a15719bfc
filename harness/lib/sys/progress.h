/*
 * A progress bar with an estimate of the time left, on stderr. Only drawn on a terminal that can
 * erase a line.
 */
#ifndef CONTEND_LIB_SYS_PROGRESS_H
#define CONTEND_LIB_SYS_PROGRESS_H

#include <stddef.h>

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

#endif

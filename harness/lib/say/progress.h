/*
 * A progress bar with an estimate of the time left, on stderr, only where that is a terminal that
 * can take it back.
 */
#ifndef CONTEND_LIB_SAY_PROGRESS_H
#define CONTEND_LIB_SAY_PROGRESS_H

#include <stddef.h>

/* Shows "label" and how far it is; label is borrowed until the next call. */
void progress_set(const char *label, size_t done, size_t total, double expected_s);

/* Redraws, so that the clock moves. */
void progress_tick(void);

/* Takes the bar away for good. */
void progress_end(void);

struct progress {
    const char *label;
    size_t done, total;
    double left_s;
};

/*
 * The bar as it is drawn on a terminal of so many columns, never longer than that: where it is
 * narrow the cells get fewer, then none, and then the label is cut. Returns buf.
 */
char *progress_format(const struct progress *progress, unsigned columns, char *buf, size_t size);

#endif

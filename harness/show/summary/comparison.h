/* Comparisons on a terminal, in 80 columns: the one printer of them, of compare and of ab. */
#ifndef CONTEND_SHOW_SUMMARY_COMPARISON_H
#define CONTEND_SHOW_SUMMARY_COMPARISON_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/verdict/pairs/comparison.h"

struct comparison_view {
    bool all;     /* also those that do not gate */
    bool explain; /* below each its reason */
    bool color;   /* SLOWER and MISSING red, FASTER green */
};

/*
 * A line each below its arm: outcome, metric and unit, the medians of both sides, the change and
 * its interval. Nothing where there is none to be shown.
 */
void comparisons_print(const struct comparisons *comparisons, const struct comparison_view *view,
                       FILE *out);

#endif

/* Workers as they are right now, as lines for a terminal or a pipe. */
#ifndef CONTEND_DOCTOR_TABLES_LIVE_H
#define CONTEND_DOCTOR_TABLES_LIVE_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/check/live.h"

struct live_style {
    unsigned columns, rows; /* what there is; 0 = what it needs, with strips for 80 columns */
    bool color;
    const char *line_end; /* "\n", or what a screen needs */
};

/*
 * A line about the machine, a line a worker, then its CPUs as a strip: ' ' not its own, '.' its own
 * and unused, and from '-' over '+' to '#' how long its threads were there. One mark stands for
 * several CPUs, and shows the busiest of them, where the terminal is too narrow. The last strip
 * counts the workers on each CPU. Rows that do not fit are left out, with a word.
 */
void live_print(const struct live *live, const struct live_style *style, FILE *out);

#endif

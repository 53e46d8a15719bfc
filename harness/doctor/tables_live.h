/* Prints workers right now (check/live.h) as lines for a terminal or a pipe. */
#ifndef CONTEND_DOCTOR_TABLES_LIVE_H
#define CONTEND_DOCTOR_TABLES_LIVE_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/checks/live.h"

struct live_style {
    unsigned columns, rows; /* size of the terminal; 0 = unlimited, with strips for 80 columns */
    bool color;
    const char *line_end; /* "\n", or what a screen needs */
};

/*
 * Prints a line on the machine, a line per worker, then the CPUs of each worker as a strip. Marks:
 * ' ' = not allowed, '.' = allowed but unused; '-', '+', '#' = used for at least 5, 33, 66% of the
 * time. If the terminal is too narrow, a mark stands for several CPUs and shows the busiest of
 * them. The last strip counts the workers on each CPU. Workers that do not fit are left out; a line
 * says how many.
 */
void live_print(const struct live *live, const struct live_style *style, FILE *out);

#endif

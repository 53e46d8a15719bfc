/* Prints the findings of `contend doctor` on a terminal, and the list of its checks. */
#ifndef CONTEND_DOCTOR_DOCTOR_TABLES_H
#define CONTEND_DOCTOR_DOCTOR_TABLES_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/checks/check.h"
#include "harness/doctor/checks/live.h"

/* Prints the findings, the largest cost first, or that there are none; then what could not be read,
 * and the CPU time of doctor itself. -ENOMEM only. */
int doctor_print(const struct view *view, const struct diagnosis *diagnosis, FILE *out, bool color,
                 struct err *err);

/* Sentences on what could not be read, and who can read it; "" = nothing. */
const char *doctor_format_unread(const struct view *view);

/* The sentence for a run without findings. */
const char *doctor_format_none_found(const struct view *view);
/* True if nothing was found because /proc hides the processes: that is no good result. */
bool doctor_sees_no_process(const struct view *view, const struct diagnosis *diagnosis);

/* Prints every check. */
void doctor_print_checks(bool markdown, FILE *out);

/* Prints workers right now (check/live.h) as lines for a terminal or a pipe. */
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

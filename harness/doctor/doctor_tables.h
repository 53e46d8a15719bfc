/* Prints the findings of `contend doctor` on a terminal, and the list of its checks. */
#ifndef CONTEND_DOCTOR_DOCTOR_TABLES_H
#define CONTEND_DOCTOR_DOCTOR_TABLES_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/checks/check.h"

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

#endif

/* The findings of `contend doctor` on a terminal, and its checks explained. */
#ifndef CONTEND_DOCTOR_TABLES_DOCTOR_H
#define CONTEND_DOCTOR_TABLES_DOCTOR_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/doctor/check/check.h"

/* The findings, what costs most first, or that there is none; then what could not be read, and
 * what the looking itself cost. -ENOMEM only. */
int doctor_print(const struct view *view, const struct diagnosis *diagnosis, FILE *out, bool color,
                 struct err *err);

enum { DOCTOR_UNREAD_MAX = 2048 };

/* The parts that could not be read, and who can read them, in sentences; "" = none. Returns buf. */
char *doctor_format_unread(const struct view *view, char *buf, size_t size);

/* The sentence where there is no finding. */
const char *doctor_format_none_found(const struct view *view);
/* Nothing was found since /proc hides the processes there are: that is no good news. */
bool doctor_saw_nothing(const struct view *view, const struct diagnosis *diagnosis);

/* Every check. */
void doctor_print_checks(bool markdown, FILE *out);

#endif

/* The position and the arm of a value, in words for people. All functions return buf. */
#ifndef CONTEND_ROWS_FORMAT_H
#define CONTEND_ROWS_FORMAT_H

#include "harness/rows/row.h"

/* "4 KiB pages, SMT sibling"; "" for NULL. */
char *format_dims(const struct bench *bench, const struct dims *at, char *buf, size_t size);

/* format_dims, then the parameters and the placement that distinguish the arm from others. */
char *format_arm(const struct result *result, const struct arm *arm, const struct dims *at,
                 char *buf, size_t size);

/* True if format_arm names the placement. */
bool format_has_placement(const struct result *result, const struct arm *arm);

/* ", dose cpu=20%"; "" for none. */
enum { FORMAT_DOSE_MAX = DOSE_TEXT_MAX + 8 };
char *format_dose(const struct arm *arm, char buf[static FORMAT_DOSE_MAX]);

/* Only the parameters that distinguish the arm. */
char *format_params(const struct result *result, const struct arm *arm, char *buf, size_t size);

/*
 * format_part names a part of a run: the parameters that are not dimensions of `at`, and the number
 * of workers. format_in_part names a value within such a part: its position and the placement.
 */
char *format_part(const struct result *result, const struct arm *arm, const struct dims *at,
                  char *buf, size_t size);
char *format_in_part(const struct result *result, const struct arm *arm, const struct dims *at,
                     char *buf, size_t size);

/* ", 3 of 6 rounds" if the arm has fewer rounds than the run; "" otherwise, and in a search. */
char *format_fewer_rounds(const struct result *result, const struct arm_rounds *rounds, char *buf,
                          size_t size);

#endif

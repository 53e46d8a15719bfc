/* The position and the arm of a value, in words for people. All functions return buf. */
#ifndef CONTEND_RECORD_FORMAT_H
#define CONTEND_RECORD_FORMAT_H

#include "harness/record/row.h"

/* "4 KiB pages, SMT sibling"; "" for NULL. */
const char *format_dims(const struct bench *bench, const struct dims *at);

/* format_dims, then the parameters and the placement that distinguish the arm from others. */
const char *format_arm(const struct result *result, const struct arm *arm, const struct dims *at);

/* True if format_arm names the placement. */
bool format_has_placement(const struct result *result, const struct arm *arm);

/* ", dose cpu=20%"; "" for none. */
const char *format_dose(const struct arm *arm);

/* Only the parameters that distinguish the arm. */
const char *format_params(const struct result *result, const struct arm *arm);

/*
 * format_part names a part of a run: the parameters that are not dimensions of `at`, and the number
 * of workers. format_in_part names a value within such a part: its position and the placement.
 */
const char *format_part(const struct result *result, const struct arm *arm, const struct dims *at);
const char *format_in_part(const struct result *result, const struct arm *arm,
                           const struct dims *at);

/* ", 3 of 6 rounds" if the arm has fewer rounds than the run; "" otherwise, and in a search. */
const char *format_fewer_rounds(const struct result *result, const struct arm_rounds *rounds);

#endif

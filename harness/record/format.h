/* The position and the arm of a value, in words for people. All functions return buf. */
#ifndef CONTEND_RECORD_FORMAT_H
#define CONTEND_RECORD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/record/row.h"

/* "base pages, SMT sibling"; "" for NULL. */
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

/* Values, units and keys as tables write them. */

/*
 * Two decimals below 10, one below 100, else none. Bytes and seconds become "45 KiB" and "2.3 ms";
 * `with_unit` appends any other unit.
 */
const char *number_format(double value, const char *unit, bool with_unit);

/* For sentences, three digits and the unit: "203 us", "7.38 k items/s". */
const char *number_format_sentence(double value, const char *unit);

/* "<=" for a doubt that begins with "at most: ", ">=" for "at least: ", else "". */
const char *number_bound(const char *doubt);

/* "16 KiB" for 16384; a decimal only if a single digit precedes the point. */
const char *number_format_bytes(double bytes);

/* The unit to print once above or beside numbers; "" if numbers contain it or have no unit. */
const char *number_unit(const char *unit);

/* Whether the arm's title already has that part of its keys, as in "loaded_latency, inject r". */
bool number_in_title(const struct result *result, const struct arm *arm, const char *part);

#endif

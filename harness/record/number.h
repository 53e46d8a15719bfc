/* Values, units and keys as tables write them. */
#ifndef CONTEND_RECORD_NUMBER_H
#define CONTEND_RECORD_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/record/row.h"

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

/* Values, units and keys as tables write them. */
#ifndef CONTEND_ROWS_NUMBER_H
#define CONTEND_ROWS_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/rows/row.h"

/*
 * Three significant digits from 1 on. `with_unit`: behind it, where it is not part of the number as
 * in "45 KiB" and "2.3 ms". Returns buf.
 */
char *number_format(double value, const char *unit, bool with_unit, char *buf, size_t size);

/* "<=" or ">=" of a value whose doubt begins with "at most: " or "at least: ", else "". */
const char *number_bound(const char *doubt);

/* "16 KiB" for 16384: with a digit behind the point only where there is one in front. */
char *number_format_bytes(double bytes, char *buf, size_t size);

/* The unit, where it stands once above or beside the numbers; "" where it is part of them, or none.
 */
const char *number_unit(const char *unit);

/* Whether the arm's title says that part of its keys already: "loaded_latency, inject r". */
bool number_in_title(const struct result *result, const struct arm *arm, const char *part);

#endif

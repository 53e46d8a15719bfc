/* Rows as JSON, for `--json`. */
#ifndef CONTEND_STORE_JSON_ROWS_H
#define CONTEND_STORE_JSON_ROWS_H

#include <jansson.h>

#include "harness/rows/analysis.h"

/*
 * A new array with one object a row; keys are the columns of rows.csv in their order, an empty
 * cell is null. The throughput of a measured arm has "recommended" and, relative to the default,
 * "speed_up", "speed_up_low" and "speed_up_high" beside them. NULL when memory ran out.
 */
json_t *rows_to_json(const struct analysis *analysis);

#endif

/* Rows as JSON, for `--json`. */
#ifndef CONTEND_JSON_ROWS_H
#define CONTEND_JSON_ROWS_H

#include <jansson.h>

#include "harness/rows/row.h"

/*
 * A new array with one object a row; keys are the columns of rows.csv in their order, an empty
 * cell is null. NULL when memory ran out.
 */
json_t *rows_to_json(const struct rows *rows);

#endif

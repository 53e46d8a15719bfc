/* Rows as JSON, for `--json`, and what is recommended of them. */
#ifndef CONTEND_STORE_JSON_ROWS_H
#define CONTEND_STORE_JSON_ROWS_H

#include <jansson.h>

#include "harness/contract/finding.h"
#include "harness/rows/analysis.h"

/*
 * A new array with one object a row; keys are the columns of rows.csv in their order, an empty
 * cell is null. The throughput of a measured arm has "recommended" and, relative to the default,
 * "speed_up", "speed_up_low" and "speed_up_high" beside them. NULL when memory ran out.
 */
json_t *rows_to_json(const struct analysis *analysis);

/*
 * {"setting": "sized", "placement": "sized", "workers": 2, "relative_to": "none", "speed_up": 18.2,
 *  "low": 15.1, "high": 20.3, "rounds": 5, "command": "contend place ..."}: of the largest number
 * of workers, the first that competed. The setting of relative_to itself, without a command: leave
 * it as it is. JSON null where there is no evidence or no choice. The command is that of the
 * findings.
 */
json_t *recommended_to_json(const struct analysis *analysis, const struct findings *findings);

#endif

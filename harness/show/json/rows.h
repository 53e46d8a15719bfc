/* Rows and the recommendation as JSON, for `--json`. */
#ifndef CONTEND_SHOW_JSON_ROWS_H
#define CONTEND_SHOW_JSON_ROWS_H

#include <jansson.h>

#include "harness/lib/finding.h"
#include "harness/record/analysis.h"

/*
 * A new array with one object per row. Its keys are the columns of rows.csv in their order; an
 * empty cell is null. The throughput row of a measured arm also has "recommended" and, relative to
 * the default, "speed_up", "speed_up_low" and "speed_up_high". NULL: no memory.
 */
json_t *rows_to_json(const struct analysis *analysis);

/*
 * {"setting": "sized", "placement": "sized", "workers": 2, "relative_to": "none", "speed_up": 18.2,
 *  "low": 15.1, "high": 20.3, "rounds": 5, "command": "contend place ..."}: the recommendation for
 * the largest number of workers; of several, the first. If it is the setting of relative_to itself,
 * it has no command: leave it as it is. JSON null without evidence or without a choice. The command
 * is that of the findings.
 */
json_t *recommended_to_json(const struct analysis *analysis, const struct findings *findings);

#endif

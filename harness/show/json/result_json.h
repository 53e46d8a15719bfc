/* Comparisons in JSON, of compare and of ab. */
#ifndef CONTEND_SHOW_JSON_RESULT_JSON_H
#define CONTEND_SHOW_JSON_RESULT_JSON_H

#include <jansson.h>

#include "harness/engine/result.h"
#include "harness/lib/finding.h"
#include "harness/record/analysis.h"
#include "harness/verdict/comparison.h"
#include "harness/verdict/incidents.h"

/*
 * [{"base", "other": the names of the sides, "arm", "params", "metric", "unit", "better",
 *   "base_median", "other_median", "ratio", "low", "high", "level", "base_runs", "other_runs",
 *   "pairs", "outcome": "FASTER"|"SLOWER"|"SAME"|"UNCLEAR"|"MISSING", "gates": bool, "reason"}]
 * A number that is not known is null. NULL: no memory. The caller owns the result.
 */
json_t *comparisons_to_json(const struct comparisons *comparisons);

/* Reads them back; missing members are empty or NaN. Errors: -ENOMEM only. Free with
 * comparisons_free, also after an error. */
int comparisons_from_json(const json_t *json, struct comparisons *comparisons, struct err *err);

/*
 * [{"name", "env": ["VAR=VALUE"], "params": ["K=V"], "placement", "threads", "cpu_max", "before",
 *   "after", "check", "build", "read_back": {"initial", "during", "final"}}]: the first variant is
 * the base. Unset members are null. NULL: no memory. The caller owns the result.
 */
json_t *variants_to_json(const struct variants *variants);

/* Rows and the recommendation as JSON, for `--json`. */

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

/* Outcomes of incidents, as JSON. */

/*
 * [{"incident", "symptom", "title", "url", "date", "reported", "end", "reason", "metric", "unit",
 *   "sick", "cured", "speed_up", "low", "high", "rounds", "witness", "witness_unit",
 *   "witness_sick", "witness_cured", "doctor": {"looked", "named", "found", "evidence", "fix",
 * "cured", "gain", "low", "high", "reason"}, "took_s"}]: the cure gives speed_up, doctor's fix
 * gives gain; unknown is null. NULL: no memory. The caller owns it.
 */
json_t *incidents_to_json(const struct incident_outcome *all, size_t n);

#endif

/* Comparisons in JSON, of compare and of ab. */
#ifndef CONTEND_SHOW_JSON_RESULT_JSON_H
#define CONTEND_SHOW_JSON_RESULT_JSON_H

#include <jansson.h>

#include "harness/engine/variant.h"
#include "harness/verdict/comparison.h"

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

#endif

/* Comparisons in JSON, of compare and of ab. */
#ifndef CONTEND_JSON_COMPARISON_H
#define CONTEND_JSON_COMPARISON_H

#include <jansson.h>

#include "harness/judge/comparison.h"

/*
 * [{"base", "other": the names of the sides, "arm", "params", "metric", "unit", "better",
 *   "base_median", "other_median", "ratio", "low", "high", "level", "base_runs", "other_runs",
 *   "pairs", "outcome": "FASTER"|"SLOWER"|"SAME"|"UNCLEAR"|"MISSING", "gates": bool, "reason"}]
 * A number that is not known is null. NULL: no memory. The caller owns the result.
 */
json_t *comparisons_to_json(const struct comparisons *comparisons);

#endif

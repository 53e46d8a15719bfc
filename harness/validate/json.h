/* The findings of `contend validate` as JSON. */
#ifndef CONTEND_VALIDATE_JSON_H
#define CONTEND_VALIDATE_JSON_H

#include <jansson.h>

#include "harness/lib/finding.h"
#include "harness/machine/facts.h"
#include "harness/validate/rules/rules.h"

struct validation {
    const struct facts *facts;
    const struct findings *findings, *numbers; /* rules_judge */
    const struct rules_verdict *verdict;
    const char *profile, *utc; /* "quick"; "2026-01-31T12:00:00Z" */
    double took_s;
    int code; /* exit code of the verdict */
};

/*
 * {"schema": 1, "host", "machine": as record/json_machine.h, "utc", "contend", "profile", "took_s",
 * "verdict", "text", "counts": {"PASS": n, ...}, "findings": [as record/json_value.h, with "kind"
 * and "action"], "measured": [{"probe", "metric", "key", "unit", "better", "gates", "value",
 * "why"}]}. NULL: out of memory. The caller owns the result.
 */
json_t *validation_to_json(const struct validation *validation);

/*
 * A line of SuperBench's results-summary.jsonl: {"node": host, "contend/return_code": the exit
 * code, "contend/RULE": 1 if the rule passes or warns, 0 if it fails or did not run,
 * "contend/PROBE/METRIC[_PART...][:GPU]": what was measured}. NULL: out of memory.
 */
json_t *validation_to_superbench(const struct validation *validation);

#endif

/* A tune in JSON: its settings, and what was found. */
#ifndef CONTEND_STORE_FORMS_TUNE_H
#define CONTEND_STORE_FORMS_TUNE_H

#include <jansson.h>

#include "harness/rows/analysis.h"

/*
 * [{"setting", "fresh", "placement", "workers", "threads", "passive", "rounds", "rate", "unit",
 * "reference", "ratio", "low", "high", "reason"}]: of the search against the leader, of fresh
 * rounds against none; what is unknown is null. NULL: no memory. The caller owns the result.
 */
json_t *tune_to_json(const struct analysis *analysis);

#endif

/* Findings in JSON: the one form of them. */
#ifndef CONTEND_STORE_JSON_FINDINGS_H
#define CONTEND_STORE_JSON_FINDINGS_H

#include <jansson.h>

#include "harness/contract/finding.h"

/*
 * [{"id", "severity": "note"|"doubt"|"bad", "subject", "sentence", "evidence", "command"}]; what is
 * "" is null. With an outcome it has that, "cause" and "metric", and with a metric "unit", "value",
 * "low" and "high", numbers or null. NULL: no memory. The caller owns the result.
 */
json_t *findings_to_json(const struct findings *findings);

/* The same read back; what is not of that form is left out. -ENOMEM only. */
int findings_from_json(const json_t *json, struct findings *findings, struct err *err);

#endif

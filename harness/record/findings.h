/* Findings in JSON: the same form everywhere. */
#ifndef CONTEND_RECORD_FINDINGS_H
#define CONTEND_RECORD_FINDINGS_H

#include <jansson.h>

#include "harness/lib/finding.h"

/*
 * [{"id", "severity": "note"|"doubt"|"bad", "subject", "sentence", "evidence", "command"}]; empty
 * texts are null. A finding with an outcome also has "outcome", "cause" and "metric"; with a metric
 * also "unit", and "value", "low" and "high", numbers or null. NULL: no memory. The caller owns the
 * result.
 */
json_t *findings_to_json(const struct findings *findings);

/* Reads them back; those of unknown severity are left out. Errors: -ENOMEM only. */
int findings_from_json(const json_t *json, struct findings *findings, struct err *err);

#endif

/* A history in JSON. */
#ifndef CONTEND_STORE_FORMS_HISTORY_H
#define CONTEND_STORE_FORMS_HISTORY_H

#include <jansson.h>

#include "harness/verdict/runs/history.h"

/*
 * {"machine": key, "runs": [{"started", "run_id", "commit"}], "figures": [{"arm", "params",
 *  "metric", "unit", "better", "canary": bool, "runs": [number of the run, from 0], "values": [],
 *  "changes": [{"run", "ratio", "low", "high", "before", "after"}]}],
 *  "findings": as findings_to_json}
 * Of one that was judged. NULL: no memory. The caller owns it.
 */
json_t *history_to_json(const struct history *history, const char *machine,
                        const struct findings *findings);

#endif

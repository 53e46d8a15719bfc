/* What is recommended of a result, as JSON. */
#ifndef CONTEND_STORE_JSON_RECOMMENDED_H
#define CONTEND_STORE_JSON_RECOMMENDED_H

#include <jansson.h>

#include "harness/contract/finding.h"
#include "harness/verdict/advice/recommend.h"

/*
 * {"setting": "sized", "placement": "sized", "workers": 2, "relative_to": "none", "speed_up": 18.2,
 *  "low": 15.1, "high": 20.3, "rounds": 5, "command": "contend place ..."}: of the largest number
 * of workers, the first that competed. The setting of relative_to itself, without a command: leave
 * it as it is. JSON null where there is no evidence or no choice. The command is that of the
 * findings.
 */
json_t *recommended_to_json(const struct analysis *analysis, const struct findings *findings);

#endif

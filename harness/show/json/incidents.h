/* Outcomes of incidents, as JSON. */
#ifndef CONTEND_SHOW_JSON_INCIDENTS_H
#define CONTEND_SHOW_JSON_INCIDENTS_H

#include <jansson.h>

#include "harness/verdict/incidents.h"

/*
 * [{"incident", "symptom", "title", "url", "date", "reported", "end", "reason", "metric", "unit",
 *   "sick", "cured", "speed_up", "low", "high", "rounds", "witness", "witness_unit",
 *   "witness_sick", "witness_cured", "doctor": {"looked", "named", "found", "evidence", "fix",
 * "cured", "gain", "low", "high", "reason"}, "took_s"}]: the cure gives speed_up, doctor's fix
 * gives gain; unknown is null. NULL: no memory. The caller owns it.
 */
json_t *incidents_to_json(const struct incident_outcome *all, size_t n);

#endif

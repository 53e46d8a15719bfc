/* Who came late, and who waited, in JSON. */
#ifndef CONTEND_COMMS_JSON_COMMS_ARRIVAL_H
#define CONTEND_COMMS_JSON_COMMS_ARRIVAL_H

#include <jansson.h>

#include "harness/comms/view/arrival.h"

/*
 * {"calls", "span_s", "timed_calls", "waited_share" | null, "ranks": [{"rank", "last_calls",
 *   "late_s", "timed_s", "waited_s"}]}; null where there is nothing to compare.
 */
json_t *comms_arrival_to_json(const struct comms_arrival *arrival);

#endif

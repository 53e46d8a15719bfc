/* What a command copied, as JSON. */
#ifndef CONTEND_COMMS_JSON_COMMS_COPIES_H
#define CONTEND_COMMS_JSON_COMMS_COPIES_H

#include "harness/comms/findings/copies.h"
#include "harness/store/json/value.h"

/*
 * {"logs": [{"file", "host", "pid", "program", "cupti": its version, "start_ns", "finished": bool,
 *   "dropped", "unknown", "buffers_out"}],
 *  "rows": [{"host", "from", "to": "host" | PCI address | "GPUN@PID" | "?", "kind",
 *   "from_memory", "to_memory", "unplaced": bool, "calls", "bytes", "timed_calls", "timed_bytes",
 *   "time_s" and "bytes_per_s" | null of not timed, "sizes": [{"from_bytes", "calls", "bytes"}]}]}
 * null where nobody counted. The caller owns it.
 */
json_t *copies_to_json(const struct copies *copies);

#endif

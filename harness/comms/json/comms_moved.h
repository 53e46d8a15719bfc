/* What NVLink moved beside a job that runs, in JSON. */
#ifndef CONTEND_COMMS_JSON_COMMS_MOVED_H
#define CONTEND_COMMS_JSON_COMMS_MOVED_H

#include <jansson.h>

#include "harness/comms/findings/moved.h"

/*
 * {"seconds", "by": "ranks"|"process"|null, "note" | null,
 *  "gpus": [{"host", "pci_bdf", "of_job" | null of nobody, "ranks", "rank" | null, "process" |
 * null, "gbps" | null, "sent": SIDE, "received": SIDE}], "job": {"sent": SIDE, "received": SIDE} |
 * null, "all": {"sent": SIDE, "received": SIDE}, "not_counted": [{"host", "why"}]} with SIDE =
 * {"counted_bytes", "bytes_per_s", "share"}, each of them or null; what names it shares with
 * comms_truth_to_json is the same there. The caller owns it.
 */
json_t *comms_moved_to_json(const struct comms_moved *moved);

#endif

/* The traffic over NCCL in JSON. */
#ifndef CONTEND_COMMS_JSON_H
#define CONTEND_COMMS_JSON_H

#include <jansson.h>

#include "harness/comms/view.h"

/*
 * {"schema_version": 1, "logs": [{"file", "host", "pid", "program", "interface", "start_ns",
 *   "events", "events_dropped", "unknown_events", "timed_every", "untimed"}],
 *  "communicators": [{"id": hex, "name", "ranks", "nodes", "ranks_told": bool,
 *   "present": [{"rank", "file", "state": "alive"|"finalized", "gpu": PCI address | null}],
 *   "calls": [{"collective", "algorithm", "protocol", "captured", "calls", "bytes",
 *     "calls_least", "calls_most", "sizes": [{"from_bytes", "calls"}], "timed_calls", "time_s" and
 *     "algbw", "busbw" in bytes/s | null}],
 *   "matrix": {"how": "exact"|"order from NCCL"|"modelled", "bytes": [[]], "calls": [[]],
 *     "unknown_calls", "unknown_bytes"} | null of too many ranks,
 *   "arrival": as arrival_to_json (comms.c),
 *   "done": [{"rank", "collective", "datatype", "algorithm", "protocol", "channels", "captured",
 *     "peer", "from_bytes", "calls", "bytes"}]}],
 *  "total": {"how", "assumed": bool, "left_out", "gpus": [{"gpu", "name", "pci", "host", "pid"}],
 *   "ranks": [{"communicator": from 0, "rank", "gpu"}], "bytes": [[]], "calls": [[]],
 *   "bytes_log10": [[null of 0]], "calls_log10", "unknown_calls", "unknown_bytes"}
 *   | null of too many GPUs,
 *  "links": [{"name", "gpu", "bytes", "gbps", "share"}], the busiest first, "links_unknown_bytes",
 *  "nvlink": as nvlink_check_to_json, "findings": as findings_to_json}
 * NULL: no memory. The caller owns it.
 */
json_t *comms_to_json(const struct comms_view *view);

#endif

/* NVLink's counters beside what NCCL's calls tell, in JSON. */
#ifndef CONTEND_COMMS_JSON_COMMS_TRUTH_H
#define CONTEND_COMMS_JSON_COMMS_TRUTH_H

#include <jansson.h>

#include "harness/comms/findings/truth.h"

/*
 * {"gpus": [{"host", "pci_bdf", "ranks", "sent": SIDE, "received": SIDE}],
 *  "all": {"sent": SIDE, "received": SIDE}, "flags_bytes", "elsewhere_bytes", "copied_bytes"
 *   between these GPUs, in SIDE too | null where copies were not counted, "left_out",
 *  "not_counted": [{"host", "why"}]}
 * with SIDE = {"called_bytes", "counted_bytes", "unexplained_bytes", "ratio" | null of nothing
 * called}; null where nobody looked. The caller owns it.
 */
json_t *comms_truth_to_json(const struct comms_truth *truth, const struct comms_counters *counters);

#endif

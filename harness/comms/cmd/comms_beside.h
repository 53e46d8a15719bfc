/* What NVLink's counters of this machine do beside a job that runs: the driver is asked twice. */
#ifndef CONTEND_COMMS_CMD_COMMS_BESIDE_H
#define CONTEND_COMMS_CMD_COMMS_BESIDE_H

#include <stdbool.h>

#include "harness/comms/cmd/comms_driver.h"
#include "harness/comms/findings/nvlink_delta.h"

/* Zeroed = it was not asked. */
struct comms_beside {
    struct comms_driver *first, *second; /* owned */
    struct err why;                      /* with a code where nothing is counted */
};

/* False: nothing is counted, for the reason that comms_beside_tell gives. */
bool comms_beside_begin(struct comms_beside *beside);
void comms_beside_end(struct comms_beside *beside);

/* `ras`: the job, or NULL where nothing is told; `pid`: a process of it, or 0. */
void comms_beside_tell(const struct comms_beside *beside, const struct ras *ras, long pid,
                       struct comms_nvlink_delta *nvlink_delta);
void comms_beside_free(struct comms_beside *beside);

#endif

/* NVLink's counters in 80 columns: beside what NCCL's calls tell, and beside a job that runs. */
#ifndef CONTEND_COMMS_TABLES_COMMS_NVLINK_CHECK_H
#define CONTEND_COMMS_TABLES_COMMS_NVLINK_CHECK_H

#include <stdio.h>

#include "harness/comms/findings/nvlink_check.h"
#include "harness/comms/findings/nvlink_delta.h"

/* Nothing where nothing was counted, or why it could not. */
void comms_nvlink_check_print(const struct comms_nvlink_check *nvlink_check,
                              const struct comms_counters *counters, FILE *out);

/* What NVLink moved beside a job that runs; or, in a line, why nothing could be counted. */
void comms_nvlink_delta_print(const struct comms_nvlink_delta *nvlink_delta, FILE *out);

#endif

/* NVLink's counters in 80 columns: beside what NCCL's calls tell, and beside a job that runs. */
#ifndef CONTEND_COMMS_TABLES_COMMS_TRUTH_H
#define CONTEND_COMMS_TABLES_COMMS_TRUTH_H

#include <stdio.h>

#include "harness/comms/findings/moved.h"
#include "harness/comms/findings/truth.h"

/* Nothing where nothing was counted, or why it could not. */
void comms_truth_print(const struct comms_truth *truth, const struct comms_counters *counters,
                       FILE *out);

/* What NVLink moved beside a job that runs; or, in a line, why nothing could be counted. */
void comms_moved_print(const struct comms_moved *moved, FILE *out);

#endif

/* NVLink's counters beside what NCCL's calls tell. */
#ifndef CONTEND_COMMS_TABLES_COMMS_TRUTH_H
#define CONTEND_COMMS_TABLES_COMMS_TRUTH_H

#include <stdio.h>

#include "harness/comms/findings/truth.h"

/* Nothing where nothing was counted, or why it could not. */
void comms_truth_print(const struct comms_truth *truth, const struct comms_counters *counters,
                       FILE *out);

/* Why a machine has none, in a line. */
void comms_truth_print_none(const struct comms_counted *counted, FILE *out);

#endif

/* Who sent how much to whom, and a running job as NCCL's RAS service tells it, in 80 columns. */
#ifndef CONTEND_COMMS_TABLES_COMMS_H
#define CONTEND_COMMS_TABLES_COMMS_H

#include <stdio.h>

#include "harness/comms/findings/nvlink_delta.h"
#include "harness/comms/findings/view.h"

/*
 * One communicator after the other: its ranks, a table by collective, a matrix of bytes and one of
 * calls; then those between GPUs, of all together, and NVLink's
 * counters beside them.
 */
void comms_print(const struct comms_view *view, FILE *out);

/* Nothing where nothing was counted, or why it could not. */
void comms_nvlink_check_print(const struct comms_nvlink_check *nvlink_check,
                              const struct comms_counters *counters, FILE *out);

/* NVLink's traffic beside a running job; or, in a line, why nothing could be counted. */
void comms_nvlink_delta_print(const struct comms_nvlink_delta *nvlink_delta, FILE *out);

/* `before`: the same job some seconds earlier, for what was launched meanwhile. */
void ras_print(const struct ras *before, const struct ras *now, double seconds, FILE *out);

/* The service's own text, each line of it made harmless. */
void ras_print_text(const char *text, FILE *out);

#endif

/* Who sent how much to whom, in 80 columns. */
#ifndef CONTEND_COMMS_TABLES_COMMS_H
#define CONTEND_COMMS_TABLES_COMMS_H

#include <stdio.h>

#include "harness/comms/findings/view.h"

/*
 * One communicator after the other: its ranks, a table by collective, a matrix of bytes and one of
 * calls; then those between GPUs, of all together, and NVLink's
 * counters beside them.
 */
void comms_print(const struct comms_view *view, FILE *out);

#endif

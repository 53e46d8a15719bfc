/* How long collectives took, and who came late. */
#ifndef CONTEND_TABLE_COMMS_TIME_H
#define CONTEND_TABLE_COMMS_TIME_H

#include <stdio.h>

#include "harness/comms/arrival.h"
#include "harness/comms/lines.h"

/* Nothing where no line was timed. */
void comms_print_speeds(const struct comms_lines *lines, uint32_t nranks, FILE *out);

/* -ENOMEM only. */
int comms_print_arrival(const struct comms_communicator *communicator, FILE *out, struct err *err);

#endif

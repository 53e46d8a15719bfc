/* How long collectives took, and who came late. */
#ifndef CONTEND_COMMS_TABLES_COMMS_TIME_H
#define CONTEND_COMMS_TABLES_COMMS_TIME_H

#include <stdio.h>

#include "harness/comms/view/arrival.h"
#include "harness/comms/view/lines.h"

/* Nothing where no line was timed. */
void comms_print_speeds(const struct comms_lines *lines, uint32_t nranks, FILE *out);

/* -ENOMEM only. */
int comms_print_arrival(const struct comms_communicator *communicator, FILE *out, struct err *err);

#endif

/* What NVLink moved beside a job that runs, in 80 columns. */
#ifndef CONTEND_COMMS_TABLES_COMMS_MOVED_H
#define CONTEND_COMMS_TABLES_COMMS_MOVED_H

#include <stdio.h>

#include "harness/comms/findings/moved.h"

/* Or, in a line, why nothing could be counted. */
void comms_moved_print(const struct comms_moved *moved, FILE *out);

#endif

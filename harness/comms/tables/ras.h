/* A running job as NCCL's RAS service tells it, in 80 columns. */
#ifndef CONTEND_COMMS_TABLES_RAS_H
#define CONTEND_COMMS_TABLES_RAS_H

#include <stdio.h>

#include "harness/comms/logs/ras.h"

/* `before`: the same job some seconds earlier, for what was launched meanwhile. */
void ras_print(const struct ras *before, const struct ras *now, double seconds, FILE *out);

/* The service's own text, each line of it made harmless. */
void ras_print_text(const char *text, FILE *out);

#endif

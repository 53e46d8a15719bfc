/* What a command copied, as a table of 80 columns. */
#ifndef CONTEND_COMMS_TABLES_COMMS_COPIES_H
#define CONTEND_COMMS_TABLES_COMMS_COPIES_H

#include <stdio.h>

#include "harness/comms/findings/copies.h"

/* Nothing where nobody counted; otherwise with an empty line before it unless it is `first`. */
void copies_print(const struct copies *copies, bool first, FILE *out);

#endif

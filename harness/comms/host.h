/* What the files of one machine are named by. Also a part of the plugin. */
#ifndef CONTEND_COMMS_HOST_H
#define CONTEND_COMMS_HOST_H

#include "harness/comms/record.h"

/* The host's name without what a path or a line of text may not have. Keeps errno. */
void comms_host_find(char host[static COMMS_HOST_MAX]);

#endif

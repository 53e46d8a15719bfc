/* The part of file names that stands for a machine. Also linked into the plugin. */
#ifndef CONTEND_COMMS_LOGS_HOST_H
#define CONTEND_COMMS_LOGS_HOST_H

#include <stdbool.h>

#include "harness/comms/logs/record.h"

/* The host's name without what a path or a line of text may not have. Keeps errno. */
void comms_host_find(char host[static COMMS_HOST_MAX]);

/* Which kernel runs: zeroed where that cannot be read. Keeps errno. */
void comms_boot_find(uint8_t boot[static COMMS_BOOT_MAX]);

/* 32 hexadecimal digits, with or without the dashes of a UUID. False: something else, and zeroed.
 */
bool comms_boot_parse(const char *text, uint8_t boot[static COMMS_BOOT_MAX]);

#endif

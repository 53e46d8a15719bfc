/* What identifies a machine in logs and their names. Also linked into the plugin. */
#ifndef CONTEND_COMMS_PLUGIN_HOST_H
#define CONTEND_COMMS_PLUGIN_HOST_H

#include <stdbool.h>

#include "harness/comms/plugin/record.h"

/* The host's name, with "-" for "/", "." and blanks, so that paths and lines of text can have it.
 * Keeps errno. */
void comms_host_find(char host[static COMMS_HOST_MAX]);

/* Linux's boot_id of the running kernel; zeroed if it cannot be read. Keeps errno. */
void comms_boot_find(uint8_t boot[static COMMS_BOOT_MAX]);

/* 32 hexadecimal digits, with or without the dashes of a UUID. False: something else, and zeroed.
 */
bool comms_boot_parse(const char *text, uint8_t boot[static COMMS_BOOT_MAX]);

#endif

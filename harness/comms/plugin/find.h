/* Finds the profiler plugin that NCCL is to load; the variables that it and NCCL read. */
#ifndef CONTEND_COMMS_PLUGIN_FIND_H
#define CONTEND_COMMS_PLUGIN_FIND_H

#include <stddef.h>

#include "harness/lib/err.h"

#define COMMS_PLUGIN_VARIABLE "NCCL_PROFILER_PLUGIN"
#define COMMS_DIRECTORY_VARIABLE "CONTEND_COMMS_DIR"
#define COMMS_GRAPH_VARIABLE "NCCL_GRAPH_DUMP_FILE" /* of NCCL: a value of the user's stays */

/* Finds the path of the plugin. -ENOENT, or another error of access(). */
int comms_plugin_find(char *path, size_t size, struct err *err);

/* -EBUSY: the user has set another plugin, and NCCL loads only one. */
int comms_plugin_check(const char *path, struct err *err);

#endif

/* The profiler plugin that NCCL is to load: where it lies, and what makes it. */
#ifndef CONTEND_COMMS_CMD_COMMS_PLUGIN_H
#define CONTEND_COMMS_CMD_COMMS_PLUGIN_H

#include <stddef.h>

#include "harness/lib/base/err.h"

#define COMMS_PLUGIN_VARIABLE "NCCL_PROFILER_PLUGIN"
#define COMMS_DIRECTORY_VARIABLE "CONTEND_COMMS_DIR"
#define COMMS_GRAPH_VARIABLE "NCCL_GRAPH_DUMP_FILE" /* not ours: what the user has set stays */

/* Its path. -ENOENT and kin. */
int comms_plugin_find(char *path, size_t size, struct err *err);

/* -EBUSY: the user has set another one, and there is one place for it. */
int comms_plugin_check(const char *path, struct err *err);

#endif

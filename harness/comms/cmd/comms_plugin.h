/* The libraries that others are to load into programs: where they lie, and what makes them. */
#ifndef CONTEND_COMMS_CMD_COMMS_PLUGIN_H
#define CONTEND_COMMS_CMD_COMMS_PLUGIN_H

#include <stddef.h>

#include "harness/lib/base/err.h"

#define COMMS_PLUGIN_VARIABLE "NCCL_PROFILER_PLUGIN"
#define COMMS_INJECTION_VARIABLE "CUDA_INJECTION64_PATH"
#define COMMS_DIRECTORY_VARIABLE "CONTEND_COMMS_DIR"
#define COMMS_GRAPH_VARIABLE "NCCL_GRAPH_DUMP_FILE" /* not ours: what the user has set stays */

struct comms_library {
    const char *file;     /* beside this program */
    const char *named_by; /* a variable of ours, for another file */
    const char *variable; /* who loads it looks there */
    const char *what, *loader;
};
extern const struct comms_library comms_plugin;    /* NCCL's profiler plugin */
extern const struct comms_library comms_injection; /* CUDA's, for copies */

/* Its path. -ENOENT and kin. */
int comms_library_find(const struct comms_library *library, char *path, size_t size,
                       struct err *err);

/* -EBUSY: the user has set another one, and there is one place for it. */
int comms_library_check(const struct comms_library *library, const char *path, struct err *err);

#endif

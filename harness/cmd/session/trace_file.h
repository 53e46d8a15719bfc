/*
 * The file of --trace: one JSON object that is complete after every call, so that an interrupted
 * run leaves a valid trace.
 *
 *   rc = trace_file_open(&file, path, &err);           the file is an empty trace
 *   rc = trace_file_append(&file, events, size, &err); of trace_events (show/json/trace.h); ...
 *   rc = trace_file_close(&file, &err);                 also if it is not open
 */
#ifndef CONTEND_CMD_SESSION_TRACE_FILE_H
#define CONTEND_CMD_SESSION_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/lib/err.h"

/* Zeroed = closed. */
struct trace_file {
    bool is_open;
    int fd;
    off_t end;        /* of the last event */
    bool any;         /* the file has an event */
    const char *path; /* borrowed, for messages */
};

/*
 * Creates the file, or empties an existing one. -EINVAL: it is no regular file (a device, a pipe),
 * and stays as it is; -ELOOP: it is a symbolic link; or another negative errno. Errors name it.
 */
int trace_file_open(struct trace_file *file, const char *path, struct err *err);

/* Appends events. 0, or a negative errno such as -ENOSPC: then the file is as it was before. */
int trace_file_append(struct trace_file *file, const char *events, size_t size, struct err *err);

int trace_file_close(struct trace_file *file, struct err *err);

#endif

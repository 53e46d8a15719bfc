/*
 * A file to which whole parts are appended. If a part cannot be written (disk full), or is cut off
 * again, the parts before it remain.
 */
#ifndef CONTEND_LIB_SYS_GROWING_H
#define CONTEND_LIB_SYS_GROWING_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/lib/err.h"

/* Zeroed = closed. */
struct growing_file {
    bool is_open;
    int fd;
    off_t valid_bytes; /* end of the last whole part; bytes after it are invalid */
    const char *name;  /* borrowed, for messages */
};

/* Creates or empties the file. */
int growing_open(struct growing_file *file, int dir_fd, const char *name, struct err *err);

/* Appends all or, on error, nothing. After an error the file stays open: a later part may fit. */
int growing_append(struct growing_file *file, const void *data, size_t size, struct err *err);

/* Cuts the file back to an earlier valid_bytes. */
void growing_cut(struct growing_file *file, off_t valid_bytes);

/* Flushes all appended parts to the disk. */
int growing_sync(const struct growing_file *file, struct err *err);

/* Does nothing if closed. An error means that parts may not be on the disk. */
int growing_close(struct growing_file *file, struct err *err);

#endif

/*
 * A file that grows by whole parts: where one cannot be written (disk full), or is taken back, what
 * stood before it stays.
 */
#ifndef CONTEND_LIB_FILES_GROWING_H
#define CONTEND_LIB_FILES_GROWING_H

#include <stdbool.h>
#include <sys/types.h>

#include "harness/lib/base/err.h"

/* Zeroed = closed. */
struct growing_file {
    bool is_open;
    int fd;
    off_t valid_bytes; /* end of the last whole part: what is behind was cut off */
    const char *name;  /* borrowed, for messages */
};

/* Creates it, or empties it. */
int growing_open(struct growing_file *file, int dir_fd, const char *name, struct err *err);

/* All of it, or nothing: then the file stays open, so that a later part may fit again. */
int growing_append(struct growing_file *file, const void *data, size_t size, struct err *err);

/* Takes back what was appended behind that valid_bytes of before. */
void growing_cut(struct growing_file *file, off_t valid_bytes);

/* Brings all that was appended to the disk. */
int growing_sync(const struct growing_file *file, struct err *err);

/* Does nothing when it is closed. An error here means that parts may not be on disk. */
int growing_close(struct growing_file *file, struct err *err);

#endif

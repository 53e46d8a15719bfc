/* The files of one kind in a directory of logs. */
#ifndef CONTEND_COMMS_FOLDER_H
#define CONTEND_COMMS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/err.h"

/* Of the name and all of the text, `size` bytes and a zero, which it may change; 0 or an error. */
typedef int comms_take(void *into, const char *name, char *text, size_t size, struct err *err);

/* Whether a name has something before that suffix. */
bool comms_has_suffix(const char *name, const char *suffix);

/*
 * Hands over each file whose name ends in `suffix`, in the order of names. The first error ends it:
 * of the directory, of a file that cannot be read or has more than `most` bytes, or of `take`.
 */
int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct err *err);

#endif

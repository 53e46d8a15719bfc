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

/* Files that were left out: which, and why. Zeroed = none. */
struct comms_unread {
    size_t n, capacity;
    struct err *why; /* owned; the message has the file's name */
};
/* -ENOMEM only. */
int comms_unread_add(struct comms_unread *unread, const struct err *why, struct err *err);
void comms_unread_free(struct comms_unread *unread);

/*
 * Hands over each file whose name ends in `suffix`, in the order of names. One that cannot be read,
 * has more than `most` bytes or is refused by `take` is added to *unread, and the others go on;
 * without (NULL) it ends there. So it does after an error of the directory, and -ENOMEM.
 */
int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct comms_unread *unread, struct err *err);

#endif

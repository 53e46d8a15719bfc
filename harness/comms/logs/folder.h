/*
 * The files of one kind in a directory of logs, and in those in it that tasks of a launcher have
 * made, each for itself (task-0-of-8): names of such files begin with that of the directory.
 */
#ifndef CONTEND_COMMS_LOGS_FOLDER_H
#define CONTEND_COMMS_LOGS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/base/err.h"

/* Of the name and all of the text, `size` bytes and a zero, which it may change; 0 or an error. */
typedef int comms_take(void *into, const char *name, char *text, size_t size, struct err *err);

/* Whether a name ends so. */
bool comms_has_suffix(const char *name, const char *suffix);

/* The name of a task's directory, and whether one is such; of `size` tasks, 0 = any. */
enum { COMMS_TASK_MAX = 32 };
void comms_task_name(unsigned rank, unsigned size, char name[static COMMS_TASK_MAX]);
bool comms_is_task(const char *name, unsigned size);

/* Files that were left out: which, and why. Zeroed = none. */
struct comms_unread {
    size_t n, capacity;
    struct err *why; /* owned; the message has the file's name */
};
void comms_unread_free(struct comms_unread *unread);

/*
 * Hands over each file whose name ends in `suffix`, in the order of names. One that cannot be read,
 * has more than `most` bytes or is refused by `take` is added to *unread, and the others go on;
 * without (NULL) it ends there. So it does after an error of the directory, and -ENOMEM.
 */
int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct comms_unread *unread, struct err *err);

#endif

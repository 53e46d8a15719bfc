/* Reads logs of processes (record.h) strictly: errors name the file and the byte. */
#ifndef CONTEND_COMMS_PLUGIN_READ_H
#define CONTEND_COMMS_PLUGIN_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/comms/plugin/record.h"
#include "harness/lib/err.h"
#include "harness/lib/pci.h"

/* ---- the files of one kind in a directory of logs, and in those of a launcher's tasks in it ----
 */

/* Called with the name and the text of a file, `size` bytes and a 0, which it may change. Returns 0
 * or an error. */
typedef int comms_take(void *into, const char *name, char *text, size_t size, struct err *err);

/* The name of a task's directory, and whether a name is one; of `size` tasks, 0 = any number. */
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
 * Passes each file whose name ends in `suffix` to `take`, in the order of names. A file that cannot
 * be read, has more than `most` bytes or is refused by `take` is added to *unread, and the next
 * file follows. If `unread` is NULL, that error is returned. So are errors of the directory and
 * -ENOMEM.
 */
int comms_folder_read(const char *directory, const char *suffix, size_t most, comms_take *take,
                      void *into, struct comms_unread *unread, struct err *err);

/* The counters of one key, by one rank of a communicator. */
struct comms_count {
    struct comms_key key;
    uint64_t calls, bytes;
    uint64_t timed_calls, timed_ns, timed_bytes;
};

/* The records of one file, without its free room. Zeroed = none. */
struct comms_log {
    char *name; /* of the file; owned, as are the arrays */
    struct comms_header header;
    size_t nmembers, ncounts, nevents, nlooks;
    struct comms_member *member;
    struct comms_count *count;
    struct comms_event *event; /* the last events; those of one thread are in order */
    struct comms_look *look;   /* the last looks, likewise */
    uint64_t all_events;       /* including overwritten ones: the calls that did work */
    uint64_t dropped;          /* how many of all are not in `event` */
};

struct comms_logs {
    size_t n, capacity;
    struct comms_log *log;
};

/* Reads the bytes of a file. -EINVAL with "'NAME', byte N: what is wrong there", -ENOMEM. */
int comms_log_parse(const char *name, const void *bytes, size_t size, struct comms_log *log,
                    struct err *err);
void comms_log_free(struct comms_log *log);

/* Adds all *.comms of a directory, in the order of their names; none is no error. `unread` is as
 * for comms_folder_read. Free the logs also after an error. */
int comms_logs_read(const char *directory, struct comms_logs *logs, struct comms_unread *unread,
                    struct err *err);
void comms_logs_free(struct comms_logs *logs);

/* Drops events from before the last `seconds` of their log; 0 = none. Sums keep them. */
void comms_logs_keep_last(struct comms_logs *logs, double seconds);

#endif

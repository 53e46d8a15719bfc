/* Logs of processes (record.h), read strictly: what is refused is named by file and byte. */
#ifndef CONTEND_COMMS_LOGS_READ_H
#define CONTEND_COMMS_LOGS_READ_H

#include <stddef.h>
#include <stdint.h>

#include "harness/comms/logs/folder.h"
#include "harness/comms/logs/record.h"
#include "harness/lib/base/err.h"

/* What was counted of one key, by one rank of a communicator. */
struct comms_count {
    struct comms_key key;
    uint64_t calls, bytes;
    uint64_t timed_calls, timed_ns, timed_bytes;
};

/* One file: what it has, without the room that is free. Zeroed = none. */
struct comms_log {
    char *name; /* of the file; owned, as are the arrays */
    struct comms_header header;
    size_t nmembers, ncounts, nevents;
    struct comms_member *member;
    struct comms_count *count;
    struct comms_event *event; /* the last ones; those of one thread in their order */
    uint64_t all_events;       /* that there were: the calls that did work */
    uint64_t dropped;          /* of those, overwritten by later ones */
};

struct comms_logs {
    size_t n, capacity;
    struct comms_log *log;
};

/* The bytes of a file. -EINVAL after "'NAME', byte N: what is wrong there", -ENOMEM. */
int comms_log_parse(const char *name, const void *bytes, size_t size, struct comms_log *log,
                    struct err *err);
void comms_log_free(struct comms_log *log);

/* All *.comms of a directory, in the order of their names; none is no error. `unread` is as
 * comms_folder_read has it. */
int comms_logs_read(const char *directory, struct comms_logs *logs, struct comms_unread *unread,
                    struct err *err);
void comms_logs_free(struct comms_logs *logs);

#endif

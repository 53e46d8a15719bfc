/*
 * The writer of copies (copies_record.h), inside somebody else's process. A child that was forked
 * has none.
 */
#ifndef CONTEND_COMMS_PLUGIN_INJECT_LOG_H
#define CONTEND_COMMS_PLUGIN_INJECT_LOG_H

#include <stdbool.h>

#include "harness/comms/logs/copies_record.h"

/* Makes the file in CONTEND_COMMS_DIR, once. False: after a line that says why it is off. */
bool inject_log_open(uint32_t cupti);

/* True: there is a file, and this is the process that it is of. */
bool inject_log_is_on(void);

struct inject_copy {
    uint32_t kind, from_memory, to_memory; /* as CUPTI tells them */
    int32_t from, to;                      /* as in struct copies_entry */
    uint64_t calls, bytes;
    uint64_t ns; /* 0 = not told */
};

/* The caller holds the lock for these. */
void inject_log_lock(void);
void inject_log_unlock(void);
void inject_log_add(const struct inject_copy *copy);
struct copies_sums *inject_log_sums(void); /* its counts of what is no copy, and addresses */
void inject_log_publish(enum copies_end end);

/* Without the lock, by the thread of ours or behind its end: what was published into the file,
 * where that lies apart. */
void inject_log_save(void);

#endif

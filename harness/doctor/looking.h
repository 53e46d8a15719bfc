/*
 * A process while its locks are looked at (locks.h): its threads, their numbers as it has them
 * itself, and its memory.
 *
 *   struct looking at;
 *   if (looking_open(process, "", &at)) {
 *       if (looking_list(&at))
 *           looking_number(&at);
 *       looking_close(&at);
 *   }
 */
#ifndef CONTEND_DOCTOR_LOOKING_H
#define CONTEND_DOCTOR_LOOKING_H

#include "harness/doctor/view_locks.h"

/* Threads of a process that the kernel may have refused a lock, at whose stacks we look. */
enum { REFUSED_MOST = 16 };

struct lock_task {
    int tid;
    uint32_t number; /* as the process has it */
};

/* A thread, and what it waits in. */
struct asleep {
    int tid;
    struct futex_call call;
};

/* A process while it is looked at. */
struct looking {
    int dir_fd, memory_fd; /* memory: -1 = not opened yet, or not ours */
    int pid;
    unsigned nested; /* namespaces of pids */
    size_t ntasks, tasks_capacity;
    struct lock_task *tasks; /* owned; sorted by tid */
    unsigned threads;        /* that were looked at */
    unsigned nrefused;       /* threads that the kernel may have refused a lock */
    struct asleep may_be_refused[REFUSED_MOST];
    struct asleep inheriting; /* one that waits for a lock that inherits; tid 0 = none */
    bool refused, cut;
};

/* False, with errno: it is not there, or not ours. */
bool looking_read(const struct looking *at, int tid, const char *file, char *buf, size_t size);

/* Of a process that is gone: false, with nothing to close. */
bool looking_open(const struct view_process *process, const char *root, struct looking *at);
void looking_close(struct looking *at);

/* Its threads as they are now, sorted; false: there are none. */
bool looking_list(struct looking *at);

/* Locks have the numbers of threads that the process itself sees: in a container, others. */
void looking_number(struct looking *at);
bool looking_has_number(const struct looking *at, uint32_t number);

/* By way of a thread that waits: the first one may have ended, and then has none. */
bool looking_read_memory(struct looking *at, int tid, uint64_t address, void *to, size_t size);

#endif

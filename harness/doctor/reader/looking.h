/*
 * A process while one looks into it: its threads, their numbers as it has them itself, and its
 * memory.
 *
 *   struct looking at;
 *   if (looking_open(process, "", &at)) {
 *       if (looking_list(&at))
 *           looking_number(&at);
 *       looking_close(&at);
 *   }
 */
#ifndef CONTEND_DOCTOR_READER_LOOKING_H
#define CONTEND_DOCTOR_READER_LOOKING_H

#include "harness/doctor/view/view.h"

struct looking_task {
    int tid;
    uint32_t number; /* as the process has it */
};

struct looking {
    int dir_fd, memory_fd; /* memory: -1 = not opened yet, or not ours */
    size_t ntasks, tasks_capacity;
    struct looking_task *tasks; /* owned; sorted by tid */
};

/* False, with errno: it is not there, or not ours. */
bool looking_read(const struct looking *at, int tid, const char *file, char *buf, size_t size);

/* Of a process that is gone: false, with nothing to close. */
bool looking_open(const struct view_process *process, const char *root, struct looking *at);
void looking_close(struct looking *at);

/* Its threads as they are now, sorted; false: there are none. */
bool looking_list(struct looking *at);

/* Structs in memory, and what pthread_join waits for, have the numbers of threads that the process
 * itself sees: in a container, others. */
void looking_number(struct looking *at);

/* By way of a thread that waits: the first one may have ended, and then has none. */
bool looking_read_memory(struct looking *at, int tid, uint64_t address, void *to, size_t size);

#endif

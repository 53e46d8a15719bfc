/*
 * A process while one looks into it: its threads, their numbers as it has them itself, and its
 * memory.
 *
 *   struct looking at;
 *   if (proc_sampler_open(process, "", &at)) {
 *       if (proc_sampler_list(&at))
 *           proc_sampler_number(&at);
 *       proc_sampler_close(&at);
 *   }
 */
#ifndef CONTEND_DOCTOR_READER_PROC_SAMPLER_H
#define CONTEND_DOCTOR_READER_PROC_SAMPLER_H

#include "harness/doctor/view/view.h"

struct proc_sampler_task {
    int tid;
    uint32_t number; /* as the process has it */
};

struct proc_sampler {
    int dir_fd, memory_fd; /* memory: -1 = not opened yet, or not ours */
    size_t ntasks, tasks_capacity;
    struct proc_sampler_task *tasks; /* owned; sorted by tid */
};

/* False, with errno: it is not there, or not ours. */
bool proc_sampler_read(const struct proc_sampler *at, int tid, const char *file, char *buf,
                       size_t size);

/* False, with nothing to close, for a process that is gone. */
bool proc_sampler_open(const struct view_process *process, const char *root,
                       struct proc_sampler *at);
void proc_sampler_close(struct proc_sampler *at);

/* Its threads as they are now, sorted; false: there are none. */
bool proc_sampler_list(struct proc_sampler *at);

/* Structs in memory, and what pthread_join waits for, have the numbers of threads that the process
 * itself sees: in a container, others. */
void proc_sampler_number(struct proc_sampler *at);

/* By way of a thread that waits: the first one may have ended, and then has none. */
bool proc_sampler_read_memory(struct proc_sampler *at, int tid, uint64_t address, void *to,
                              size_t size);

#endif

/*
 * Reads one process: its threads, their tids in its own pid namespace, and its memory.
 *
 *   struct proc_sampler at;
 *   if (proc_sampler_open(process, "", &at)) {
 *       if (proc_sampler_list(&at))
 *           proc_sampler_number(&at);
 *       proc_sampler_close(&at);
 *   }
 */
#ifndef CONTEND_DOCTOR_READER_PROC_SAMPLER_H
#define CONTEND_DOCTOR_READER_PROC_SAMPLER_H

#include "harness/doctor/reader/view.h"

struct proc_sampler_task {
    int tid;
    uint32_t number; /* the tid as the process itself sees it */
};

struct proc_sampler {
    int dir_fd, memory_fd; /* memory_fd: -1 = not opened yet, or not permitted */
    size_t ntasks, tasks_capacity;
    struct proc_sampler_task *tasks; /* owned; sorted by tid */
};

/* Reads task/TID/`file`. False, with errno: the file is gone or not permitted. */
bool proc_sampler_read(const struct proc_sampler *at, int tid, const char *file, char *buf,
                       size_t size);

/* False: the process is gone; nothing to close. */
bool proc_sampler_open(const struct view_process *process, const char *root,
                       struct proc_sampler *at);
void proc_sampler_close(struct proc_sampler *at);

/* Lists its current threads, sorted; false: there are none. */
bool proc_sampler_list(struct proc_sampler *at);

/* Fills in .number. In a container, its memory and pthread_join hold tids of its own namespace. */
void proc_sampler_number(struct proc_sampler *at);

/* Reads through thread `tid`, one that waits: the first thread may have ended and has no memory. */
bool proc_sampler_read_memory(struct proc_sampler *at, int tid, uint64_t address, void *to,
                              size_t size);

#endif

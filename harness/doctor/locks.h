/*
 * Reads who waits for whom among the threads of a process (view_locks.h), each process once during
 * a watch, and those where something is stuck once more at its end. Part of the host (host.h).
 *
 *   struct locks locks = {.everybody = true};
 *   ... locks_look(&view, "", &locks) at most once a second ...
 *   locks_finish(&view, "", &locks);
 *   ... locks.stuck ...
 *   locks_free(&locks);
 *
 * Needs the right to trace the process (ptrace(2), PTRACE_MODE_ATTACH): its user's, where
 * kernel.yama.ptrace_scope is 0, or CAP_SYS_PTRACE. Stops nobody. To look at a thread takes
 * about 6 us, and a look is at no more than LOCKS_THREADS_MOST of them.
 */
#ifndef CONTEND_DOCTOR_LOCKS_H
#define CONTEND_DOCTOR_LOCKS_H

#include "harness/doctor/view_locks.h"

enum { LOCKS_THREADS_MOST = 1024, LOCKS_PROCESSES_MOST = 16 };

/* Of one process: what is to be told of it. */
struct lock_process {
    int pid;
    uint64_t start_ticks;
    double then_s;  /* when it was first seen so */
    double still_s; /* since when nobody of them has run */
    size_t nwaits, capacity;
    struct lock_wait *waits; /* owned; sorted by tid */
};

struct locks {
    bool everybody;   /* also those that are not watched, and slept all the time */
    unsigned refused; /* watched processes with threads in futex(2) that are not ours to look at */
    unsigned skipped; /* processes that there was no time to look at, or not at all threads */
    size_t n;
    struct lock_process stuck[LOCKS_PROCESSES_MOST];
    bool others; /* and after which pid the next look goes on */
    int last_pid;
};

/* Zeroed but for `everybody` = nothing seen yet. At most once a second. */
void locks_look(const struct view *view, const char *root, struct locks *locks);
/* Once. Leaves in `stuck` what is so still. */
void locks_finish(const struct view *view, const char *root, struct locks *locks);
void locks_free(struct locks *locks);

#endif

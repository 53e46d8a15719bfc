/*
 * Binds all threads of running processes to CPUs, and restores their earlier masks. The earlier
 * masks go to a state file before any change, so that an undo works even after a crash.
 *
 * A process is identified by pid and start time: one that reuses a pid is left alone.
 */
#ifndef CONTEND_DOCTOR_APPLY_H
#define CONTEND_DOCTOR_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/doctor/apply_state.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"

struct apply_process {
    pid_t pid;
    unsigned long long start_ticks;
    char name[16];
    bool is_lead;       /* a worker itself, not a process that it started */
    pid_t tid;          /* to bind this thread alone; 0 = all threads */
    struct bitset cpus; /* to bind it to */
};

/*
 * Writes the current masks of all threads to the state file, binds the processes and the children
 * that they started since they were listed, if these have the same mask, and reads the masks back.
 * *bound: number of processes bound. A child that has ended meanwhile is left out. -EEXIST: a state
 * file of an earlier change exists. -ESRCH: a lead has ended or its pid is reused; either nothing
 * is changed yet, or the state file stays. -EPERM. -EIO: a mask reads back differently: the message
 * names the thread, and the state file stays.
 */
int apply_bind(const struct apply_process *processes, size_t n, enum apply_purpose purpose,
               const char *state_path, size_t *bound, struct err *err);

/*
 * Restores the masks of all threads that still exist, and removes the state file. New threads, and
 * children started since, get the mask of their process's first thread. *left: the content of the
 * file. `ours`: pid of the contend whose running trial may be undone. -ENOENT: there is nothing to
 * undo. -EINVAL: invalid state file. -EBUSY: the trial of another running contend. -EXDEV: the file
 * is of another host or pid namespace. -EIO and others: a mask cannot be set; all others are
 * restored, and the file stays.
 */
int apply_undo(const char *state_path, pid_t ours, struct apply_left *left, struct err *err);

/*
 * A separate process that undoes a trial (apply.h) if the contend that made it is killed, stopped,
 * or exceeds its time limit. If both are killed, the next contend finds the state file.
 */
struct apply_guard {
    struct process process;
    int fd; /* a byte written here ends it */
};

/* `state_path` is borrowed until apply_guard_end. Returns errors of fork and pipe. */
int apply_guard_start(struct apply_guard *guard, const char *state_path, double limit_s,
                      struct err *err);
/* Ends the guard without an undo: the trial was undone already, or is to stay. */
void apply_guard_end(struct apply_guard *guard);

#endif

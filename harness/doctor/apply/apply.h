/*
 * Binds running processes, all their threads, and puts back what was before. Changes are
 * written to a state file first, so that an undo is possible whatever happens then.
 *
 * A process is known by pid and start time: where another one has the number by now, nothing is
 * done to it.
 */
#ifndef CONTEND_DOCTOR_APPLY_APPLY_H
#define CONTEND_DOCTOR_APPLY_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/doctor/apply/apply_state.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"

struct apply_process {
    pid_t pid;
    unsigned long long start_ticks;
    char name[16];
    bool is_lead;       /* a worker itself, and nothing that it has started */
    struct bitset cpus; /* what it is to be bound to */
};

/*
 * Writes the masks that all threads have to the state file, binds them and what they have started
 * since they were listed, and reads back; *bound: how many processes. A child of a worker may
 * have ended meanwhile, and is left out. -EEXIST: there is such a file, of an earlier one that was
 * not undone; -ESRCH: a lead has ended, or its number is another process's now: before anything is
 * changed, or else the state file stays; -EPERM; -EIO where a mask that is read back is another:
 * the message names it, and the state file stays.
 */
int apply_bind(const struct apply_process *processes, size_t n, enum apply_purpose purpose,
               const char *state_path, size_t *bound, struct err *err);

/*
 * Gives all threads that are still there their masks back, new ones and what was started since that
 * of their process's first thread, and removes the state file. *left: what it was about. `ours`: a
 * trial at work that may be undone. -ENOENT: there is nothing to undo; -EINVAL: the file is not of
 * that form; -EBUSY: another contend's trial; -EXDEV: it is of another host; -EIO and others of a
 * mask that cannot be set: then the others are put back, and the file stays.
 */
int apply_undo(const char *state_path, pid_t ours, struct apply_left *left, struct err *err);

#endif

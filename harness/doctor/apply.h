/*
 * Binds running processes, all their threads, and puts back what was before. What it changes is
 * written to a state file first, so that an undo is possible whatever happens then.
 *
 * A process is known by pid and start time: where another one has the number by now, nothing is
 * done to it.
 */
#ifndef CONTEND_DOCTOR_APPLY_H
#define CONTEND_DOCTOR_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/base/bitset.h"
#include "harness/base/err.h"

struct apply_process {
    pid_t pid;
    unsigned long long start_ticks;
    char name[16];
    bool is_lead;       /* a worker itself, and nothing that it has started */
    struct bitset cpus; /* what it is to be bound to */
};

/* In $XDG_STATE_HOME, else ~/.local/state; -ENAMETOOLONG, or -ENOENT without a home. */
int apply_state_path(char *path, size_t size, struct err *err);

/* The folders above an absolute path, for this user alone; what making one failed with. */
int apply_make_folder(const char *path, struct err *err);

/*
 * Writes the masks that all threads have to the state file, binds them, and reads back; *bound: how
 * many processes. What a worker has started may have ended meanwhile, and is left out. -EEXIST:
 * there is such a file, of an earlier one that was not undone; -ESRCH: a lead has ended, or its
 * number is another process's now: before anything is changed, or else the state file stays;
 * -EPERM; -EIO where a mask that is read back is another: the message names it, and the state file
 * stays.
 */
int apply_bind(const struct apply_process *processes, size_t n, const char *state_path,
               size_t *bound, struct err *err);

/*
 * Gives all threads that are still there their masks back, new ones that of their process's first
 * thread, and removes the state file. *restored, *gone: how many processes. -ENOENT: there is
 * nothing to undo; -EINVAL: the file is not of that form; -EIO, as above, and then it stays.
 */
int apply_undo(const char *state_path, size_t *restored, size_t *gone, struct err *err);

#endif

/*
 * One contend at a time changes masks and keeps them in a state file. Without this, two that apply
 * or verify at once each take the other's masks for the original ones.
 *
 * The lock is a file beside the state file, with the pid of its holder. The guard of a trial
 * inherits it, so it also lasts until the guard of a killed contend has undone the trial.
 */
#ifndef CONTEND_DOCTOR_APPLY_LOCK_H
#define CONTEND_DOCTOR_APPLY_LOCK_H

#include <limits.h>

#include "harness/lib/err.h"

struct apply_lock {
    int fd; /* 0 = not held */
    char path[PATH_MAX];
};

/* -EBUSY: the message names the holder. -ENOENT: no such folder. -EPERM: a file of another user. */
int apply_lock_take(const char *state_path, struct apply_lock *lock, struct err *err);
void apply_lock_release(struct apply_lock *lock);

#endif

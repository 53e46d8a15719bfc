/*
 * A separate process that undoes a trial (apply.h) if the contend that made it is killed, stopped,
 * or exceeds its time limit. If both are killed, the next contend finds the state file.
 */
#ifndef CONTEND_DOCTOR_APPLY_GUARD_H
#define CONTEND_DOCTOR_APPLY_GUARD_H

#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"

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

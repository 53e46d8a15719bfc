/*
 * A process of its own that undoes a trial (apply.h) where the contend that made it is killed,
 * stopped, or hangs beyond its time. Where both are killed, the state file says it to the next one.
 */
#ifndef CONTEND_DOCTOR_APPLY_APPLY_GUARD_H
#define CONTEND_DOCTOR_APPLY_APPLY_GUARD_H

#include "harness/lib/base/err.h"
#include "harness/lib/sys/process.h"

struct apply_guard {
    struct process process;
    int fd; /* a byte tells it that all is done */
};

/* state_path is borrowed until then. Errors of fork and pipe. */
int apply_guard_start(struct apply_guard *guard, const char *state_path, double limit_s,
                      struct err *err);
/* The trial was undone, or is to stay. */
void apply_guard_end(struct apply_guard *guard);

#endif

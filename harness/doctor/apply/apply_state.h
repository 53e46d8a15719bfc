/*
 * The file in which a change of masks is kept, so that it can be undone whatever becomes of us: who
 * made the change, and the masks that each thread had.
 *
 *   contend doctor state 2 PURPOSE PID START PLACE
 *   PID START TID START MASK
 *
 * PURPOSE is "kept" or "trial"; PID and START are those of the contend that wrote it, PLACE the
 * host, its boot and its namespace of pids, in which alone the numbers mean something.
 */
#ifndef CONTEND_DOCTOR_APPLY_APPLY_STATE_H
#define CONTEND_DOCTOR_APPLY_APPLY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"

enum apply_purpose {
    APPLY_KEPT, /* until somebody asks for an undo */
    APPLY_TRIAL /* while the contend that did it measures */
};

enum apply_left_kind {
    APPLY_LEFT_NONE,
    APPLY_LEFT_KEPT,
    APPLY_LEFT_AT_WORK,  /* a trial that goes on */
    APPLY_LEFT_BEHIND,   /* a trial whose contend was killed */
    APPLY_LEFT_ELSEWHERE /* of another host, or another namespace of pids */
};

struct apply_left {
    enum apply_left_kind kind;
    pid_t owner;       /* the contend that wrote it */
    size_t live, gone; /* of its processes: that are there still, and that have ended */
};

/* A line of the file. */
struct apply_mask {
    pid_t pid, tid;
    unsigned long long start_ticks, task_start_ticks;
    struct bitset mask;
};

struct apply_state {
    struct apply_left left;
    size_t n;
    struct apply_mask *masks; /* owned; the first thread of a process comes first */
};

/* In $XDG_STATE_HOME, else ~/.local/state; -ENAMETOOLONG, or -ENOENT without a home. */
int apply_state_path(char *path, size_t size, struct err *err);

/* The folders above an absolute path, for this user alone; what making one failed with. */
int apply_make_folder(const char *path, struct err *err);

/* The first line, for this process. */
void apply_state_head(FILE *out, enum apply_purpose purpose);

/* No such file is APPLY_LEFT_NONE. -EINVAL: it is not of that form. free() .masks, also then. */
int apply_state_read(const char *path, struct apply_state *state, struct err *err);

/* The start of a thread, in clock ticks since boot; 0 = it has ended. */
unsigned long long apply_start_of(pid_t pid, pid_t tid);

/* Whether a thread has that number, and was started then. */
bool apply_is_same(pid_t pid, pid_t tid, unsigned long long start_ticks);

#endif

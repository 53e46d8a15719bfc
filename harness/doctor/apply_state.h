/*
 * The state file: it records a change of masks, so that another process can undo the change. It
 * names the contend that made the change, and the earlier mask of each thread.
 *
 *   contend doctor state 3 PURPOSE PID START PLACE
 *   PID START TID START MASK
 *   end LINES
 *
 * PURPOSE is "kept" or "trial". PID and START in the first line are those of the contend that wrote
 * the file. PLACE is the host, its boot id and its pid namespace: pids are valid only there. LINES
 * is the number of masks: a file that was cut short is not undone in part. A file of another user
 * is not followed: it could bind any process of who reads it.
 */
#ifndef CONTEND_DOCTOR_APPLY_STATE_H
#define CONTEND_DOCTOR_APPLY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"

enum apply_purpose {
    APPLY_KEPT, /* stays until the user asks for an undo */
    APPLY_TRIAL /* lasts while that contend measures */
};

enum apply_left_kind {
    APPLY_LEFT_NONE,
    APPLY_LEFT_KEPT,
    APPLY_LEFT_AT_WORK,  /* a trial that still runs */
    APPLY_LEFT_BEHIND,   /* a trial whose contend was killed */
    APPLY_LEFT_ELSEWHERE /* of another host or pid namespace */
};

struct apply_left {
    enum apply_left_kind kind;
    pid_t owner;          /* the contend that wrote it */
    size_t nlive, nended; /* processes of the file that still run, and that have ended */
};

/* One line of the file. start_ticks: clock ticks since boot. */
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

/* The usual path, in $XDG_STATE_HOME or ~/.local/state. -ENAMETOOLONG; -ENOENT: HOME is not set. */
int apply_state_path(char *path, size_t size, struct err *err);

/* Makes the folders above an absolute path, mode 0700. Errors of mkdir; -ENAMETOOLONG. */
int apply_make_folder(const char *path, struct err *err);

/* Writes the first line, with this process as the owner; and the last one, after `n` masks. */
void apply_state_head(FILE *out, enum apply_purpose purpose);
void apply_state_end(FILE *out, size_t n);

/* Makes an empty file that did not exist, and returns it open for writing. -EEXIST: the message
 * names the contend that made it. */
int apply_state_create(const char *path, struct err *err);

/* No such file: APPLY_LEFT_NONE. -EINVAL: invalid file. -EPERM: another user's. free() .masks, also
 * after an error. */
int apply_state_read(const char *path, struct apply_state *state, struct err *err);

/* True if that thread still exists and has that start time. */
bool apply_is_same(pid_t pid, pid_t tid, unsigned long long start_ticks);

#endif

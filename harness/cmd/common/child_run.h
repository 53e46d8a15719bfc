/*
 * A whole run of a contend in a process of its own: another build, or this one with other
 * arguments. What it measured is read back from its files.
 *
 *   child_run_add(run, "%s", CHILD_RUN_SELF);
 *   child_run_add(run, "bench");               and so on
 *   rc = child_run(run, &signals, &err);
 */
#ifndef CONTEND_CMD_COMMON_CHILD_RUN_H
#define CONTEND_CMD_COMMON_CHILD_RUN_H

#include <stddef.h>

#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"

/* This program, also where its file was replaced. */
#define CHILD_RUN_SELF "/proc/self/exe"

enum { CHILD_RUN_WORDS = 256, CHILD_RUN_TEXT = 32768 };

/* Zeroed = no words yet. It is large: allocate it. */
struct child_run {
    char *argv[CHILD_RUN_WORDS]; /* the first one is the path of the program */
    size_t n;
    char text[CHILD_RUN_TEXT];
    size_t used;
    const char *const *env; /* "NAME=VALUE" that it has besides ours; borrowed */
    size_t nenv;
    char said[200]; /* once it has ended: the last line that it said on stderr, or "" */
    int log_fd;     /* its own, while it runs */
    int out_fd;     /* where its stdout goes; 0 = nowhere */
};

/* A word of its command line; where there is no room, the run will fail with -E2BIG. */
void child_run_add(struct child_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Runs it to its end, with nothing on stdin. Its exit code; -EINTR we were asked to
 * stop, and so was it; -ERESTART it was stopped (Ctrl-Z) and continued meanwhile; -ECHILD a signal
 * ended it; or why it could not be started.
 */
int child_run(struct child_run *run, struct signals *signals, struct err *err);

#endif

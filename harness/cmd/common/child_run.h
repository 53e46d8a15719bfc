/*
 * A whole run of contend in a child process: another build, or this one with other arguments. The
 * caller reads its results from its files.
 *
 *   child_run_add(run, "%s", CHILD_RUN_SELF);
 *   child_run_add(run, "bench");               and so on
 *   rc = child_run(run, &signals, &err);
 */
#ifndef CONTEND_CMD_COMMON_CHILD_RUN_H
#define CONTEND_CMD_COMMON_CHILD_RUN_H

#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"

/* This program, also if its file was replaced meanwhile. */
#define CHILD_RUN_SELF "/proc/self/exe"

enum { CHILD_RUN_WORDS = 256, CHILD_RUN_TEXT = 32768 };

/* Zeroed = no words yet. Too large for the stack: allocate it. */
struct child_run {
    char *argv[CHILD_RUN_WORDS]; /* the first word is the program's path */
    size_t n;
    char text[CHILD_RUN_TEXT];
    size_t used;
    const char *const *env; /* "NAME=VALUE" added to our environment; borrowed */
    size_t nenv;
    char last_line[200]; /* after its end: the last line on stderr, without "contend: error: " */
    int log_fd;          /* its stderr, while it runs */
    int out_fd;          /* its stdout; 0 = /dev/null */
};

/* Adds a word to the command line. If it does not fit, child_run returns -E2BIG. */
void child_run_add(struct child_run *run, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Runs it to its end, with empty stdin. Returns its exit code; -EINTR: a signal asked this process
 * to end, and the child was ended too; -ERESTART: the child was stopped (Ctrl-Z) and continued;
 * -ECHILD: a signal killed it; or another -errno: it could not be started.
 */
int child_run(struct child_run *run, struct signals *signals, struct err *err);

#endif

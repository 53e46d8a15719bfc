/* Start of all our programs, from main to the command line; also for test programs with their own
 * benchmarks. */
#ifndef CONTEND_CMD_COMMON_START_H
#define CONTEND_CMD_COMMON_START_H

#include <stddef.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"

/*
 * Prepares the process; argv[0] is the program. True: the caller exits with *code. Either this is
 * an internal process, such as a worker (engine/worker/launch.h), which has run, or the process
 * could not be prepared.
 */
bool start(const struct cmd_env *env, int argc, char **argv, int *code);

/* Flushes stdout. Returns the exit code. */
int end(int code);

/*
 * The `main` of a tool. Finds the command in env->tools by argv[1], as in "contend doctor --live".
 * Without a command there, as in "contend-doctor --all", it runs the first of env->tools.
 */
cmd_main start_tool;

/* The program's own name, for commands to paste into a shell; files that come with it. */

/*
 * The word that starts this program again from the same working directory: CONTEND_PROGRAM, which
 * the script ./contend sets, or argv[0]. Quoted for a shell if necessary; "contend" if it does not
 * fit or has control characters. Returns buf.
 */
char *program_name(const char *argv0, char *buf, size_t size);

enum { PROGRAM_PATH_MAX = 4096 };

/* Path of a program in the folder of this one; need not exist. -errno without /proc. */
int program_beside(const char *name, char *path, size_t size, struct err *err);

/*
 * Path of a file that comes with the program: beside it, or in ../share/contend of an installation.
 * -ENOENT: the message names both.
 */
int program_share(const char *name, char *path, size_t size, struct err *err);

/*
 * A whole run of contend in a child process: another build, or this one with other arguments. The
 * caller reads its results from its files.
 *
 *   child_run_add(run, "%s", CHILD_RUN_SELF);
 *   child_run_add(run, "bench");               and so on
 *   rc = child_run(run, &signals, &err);
 */

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

/* Start of all our programs, from main to the command line; also for test programs with their own
 * benchmarks. */
#ifndef CONTEND_CMD_COMMON_START_H
#define CONTEND_CMD_COMMON_START_H

#include <stddef.h>

#include "harness/cmd/common/cmd.h"
#include "harness/lib/err.h"

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

#endif

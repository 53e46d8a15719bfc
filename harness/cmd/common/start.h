/* Start of all our programs, from main to the command line; also for test programs with their own
 * benchmarks. */
#ifndef CONTEND_CMD_COMMON_START_H
#define CONTEND_CMD_COMMON_START_H

#include "harness/cmd/common/cmd.h"

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

#endif

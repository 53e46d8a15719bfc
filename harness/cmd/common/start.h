/* From main to the command line: the same for all our programs, and for tests with benchmarks of
 * their own. */
#ifndef CONTEND_CMD_COMMON_START_H
#define CONTEND_CMD_COMMON_START_H

#include "harness/cmd/common/cmd.h"

/*
 * Readies the process; argv[0] is the program. True: one of our processes has started this one,
 * such as a worker (engine/worker/launch.h), which has run and returned *code. It is also true
 * where nothing can run.
 */
bool start(const struct cmd_env *env, int argc, char **argv, int *code);

/* Writes what stdout still holds. Returns the exit code. */
int end(int code);

/*
 * The `main` of a tool, over env->tools. Words are those of `contend`, "contend doctor --live", or
 * come without the command, which is then the first: "contend-doctor --all".
 */
cmd_main start_tool;

#endif

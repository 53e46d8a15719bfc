/* From main to the command line: the same for all our programs, and for tests with benchmarks of
 * their own. */
#ifndef CONTEND_CMD_COMMON_START_H
#define CONTEND_CMD_COMMON_START_H

#include "harness/cmd/common/cmd.h"

/*
 * Runs `main` with the command line, of which argv[0] is the program; a process that one of ours
 * has started, such as a worker, is recognised by it first (engine/worker/launch.h). Returns the
 * exit code.
 */
int start(const struct cmd_env *env, int argc, char **argv, cmd_main *main);

/*
 * The `main` of a tool, over env->tools. Words are those of `contend`, "contend top --once", or
 * come without the command, which is then the first: "contend-doctor --all".
 */
cmd_main start_tool;

#endif

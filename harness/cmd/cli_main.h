/* Dispatches the command line to a command of the core program, or to the program of a tool. */
#ifndef CONTEND_CMD_CLI_MAIN_H
#define CONTEND_CMD_CLI_MAIN_H

#include <stdio.h>

#include "harness/cmd/common/cmd.h"

/* NULL: unknown name. */
const struct command *command_find(const char *name);

/* The function that runs the command: its own, one of env->tools, or one that execs the tool. */
cmd_main *command_main(const struct cmd_env *env, const struct command *command);

/* Prints the list of all commands. */
void help_print_usage(FILE *out);

/* Logs that the command is unknown, with a similar one. Returns EXIT_USAGE. */
int help_unknown_command(const struct cmd_env *env, const char *name);

/* argv[0] is the program. Returns the exit code. */
cmd_main cli_main;

#endif

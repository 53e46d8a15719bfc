/* From the command line of the core to a command, which may be a tool's. */
#ifndef CONTEND_CMD_CLI_MAIN_H
#define CONTEND_CMD_CLI_MAIN_H

#include <stdio.h>

#include "harness/cmd/common/cmd.h"

/* NULL where there is none of that name. */
const struct command *command_find(const char *name);

/* The function that runs it: from env->tools, or one that starts the tool's program. */
cmd_main *command_main(const struct cmd_env *env, const struct command *command);

/* All commands. */
void help_print_usage(FILE *out);

/* Says on stderr that there is no such command, and which was probably meant. EXIT_USAGE. */
int help_unknown_command(const struct cmd_env *env, const char *name);

/* argv[0] is the program. Returns the exit code. */
cmd_main cli_main;

#endif

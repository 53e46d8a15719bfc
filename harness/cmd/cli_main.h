/* Dispatches the command line to a command of the core program, or to the program of a tool. */
#ifndef CONTEND_CMD_CLI_MAIN_H
#define CONTEND_CMD_CLI_MAIN_H

#include <stdio.h>

#include "harness/cmd/common/cmd.h"

/* NULL: unknown name. */
const struct command *command_find(const char *name);

/* argv[0] is the program. Returns the exit code. */
cmd_main cli_main;

#endif

/* From argv to a subcommand: the same for the program and for tests with benchmarks of their own.
 */
#ifndef CONTEND_CMD_CLI_MAIN_H
#define CONTEND_CMD_CLI_MAIN_H

#include "harness/cmd/common/cmd.h"

/* Returns the exit code. A worker's command line is recognised here too. */
int cli_main(const struct cmd_env *env, int argc, char **argv);

#endif

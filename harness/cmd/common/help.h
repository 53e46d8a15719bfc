/* `--help` of a command, a scenario and a benchmark; on stdout. */
#ifndef CONTEND_CMD_COMMON_HELP_H
#define CONTEND_CMD_COMMON_HELP_H

#include "harness/cmd/common/cmd.h"

/* The purpose of the program, in a sentence. */
extern const char help_about[];

/* "contend run [SCENARIO...] [options]". */
const char *help_format_usage(const struct command *command);

/* Prints description, operands and options; without `all`, one sentence and common options. */
void help_print_command(const struct cmd_env *env, const struct command *command, bool all);

/* Print the summary and the parameters of a scenario or benchmark. */
void help_print_scenario(const struct cmd_env *env, const struct command *command,
                         const struct scenario *scenario);
void help_print_bench(const struct bench *bench);

struct help_exit_code {
    enum exit_code code;
    const char *meaning; /* NULL ends the table */
};
extern const struct help_exit_code help_exit_codes[];

/* "--param" as a table of one option, for helps; cli_parse stores it in struct cli. */
extern const struct opt help_param_option[];

#endif

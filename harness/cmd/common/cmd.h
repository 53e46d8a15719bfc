/* The subcommands. Each parses its own arguments, prints, and returns the exit code. */
#ifndef CONTEND_CMD_COMMON_CMD_H
#define CONTEND_CMD_COMMON_CMD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/scenario.h"
#include "harness/lib/finding.h"
#include "harness/lib/opt.h"
#include "harness/record/json_value.h"

/* help_exit_codes says what they mean. */
enum exit_code {
    EXIT_GOOD = 0,
    EXIT_VERDICT = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_RUN = 3,
    EXIT_INCONCLUSIVE = 4,
    EXIT_INTERRUPTED = 130
};

/* Help of --verbose, for all commands that print a result. */
#define CMD_VERBOSE_HELP "Also details: more columns, findings, reasons"

struct tool_command;

/* The tables that each main passes to the commands. Tests pass their own. */
struct cmd_env {
    const struct bench *const *benches;      /* NULL-terminated */
    const char *const *families;             /* of each benchmark, such as "memory"; or NULL */
    const struct scenario *scenarios;        /* ends with name NULL */
    const struct incident *const *incidents; /* ends with NULL; or NULL */
    const char *(*rule_name)(size_t i); /* validate's rules, for completions; NULL after the last */
    const struct tool_command *tools;   /* commands of tools that are linked into this program */
};

/* argv[0] is the subcommand's name, argv[-1] the program's. */
typedef int cmd_main(const struct cmd_env *env, int argc, char **argv);

/*
 * A command and its help. Placeholders in operands and options are types: SCENARIO, BENCH, COMMAND
 * and DIR mean the same in all of them.
 */
struct command {
    const char *name;
    cmd_main *main;         /* NULL: a tool's program runs it; the core has only this description */
    const char *tool;       /* that tool, "doctor" */
    const char *group;      /* "Measure"; NULL = not in the list of commands */
    const char *summary;    /* its line in that list */
    const char *operands;   /* words that are no options, as in "[SCENARIO...]"; NULL = none */
    const char *about;      /* sentences for its help; the short help has only the first */
    const struct opt *opts; /* may be NULL */
    struct example {
        const char *line, *text; /* "contend run", "the main job"; line NULL ends the list */
    } examples[5];
    const char *word_option; /* without operands: the option that a stray word probably belongs to,
                                "pid" */
    bool takes_params;       /* takes -p NAME=VALUE, for the benchmarks that it measures */
    bool is_task; /* takes only scenarios whose throughput a placement changes (named_is_task) */
};

/* All commands, in the order of the help; NULL-terminated. Not in tools: harness/commands.c. */
extern const struct command *const command_table[];
extern const struct command run_command, bench_command, ab_command, tune_command, predict_command,
    info_command, place_command, validate_command, report_command, compare_command, doctor_command,
    comms_command, help_command, version_command, completion_command, man_command;

/* The commands of a tool, in the program that has their code; ends with command NULL. */
struct tool_command {
    const struct command *command;
    cmd_main *main;
};
extern const struct tool_command comms_tool[], doctor_tool[], validate_tool[];

/* Parses a command line. False: return *code; the help was printed, or an error was logged. */
bool cmd_parse(const struct cmd_env *env, const struct command *command, int argc, char **argv,
               void *args, struct cli *cli, int *code);

/* The exit code of a command whose measurement failed with `rc`. */
enum exit_code cmd_not_measured(int rc);

/* The exit code of two parts: EXIT_INCONCLUSIVE hides no other, though it is larger. */
int cmd_worse(int one, int other);

/* Flushes stdout. 0, or EXIT_NOT_RUN after a message, for example if the disk is full. */
int cmd_finish(void);

/* Prints and frees the document, then as cmd_finish. NULL: out of memory, which is logged. */
int cmd_print_json(json_t *json, int indent);

/* `--help` of a command, a scenario and a benchmark; on stdout. */

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

/* The subcommands. Each parses its own arguments, prints, and returns the exit code. */
#ifndef CONTEND_CMD_COMMON_CMD_H
#define CONTEND_CMD_COMMON_CMD_H

#include <stdbool.h>
#include <stdio.h>

#include "harness/contract/bench.h"
#include "harness/contract/finding.h"
#include "harness/contract/incident.h"
#include "harness/contract/scenario.h"
#include "harness/lib/base/cli.h"
#include "harness/lib/base/opt.h"
#include "harness/store/json/value.h"

/* DESIGN.md, "Command line". */
enum exit_code {
    EXIT_GOOD = 0,
    EXIT_VERDICT = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_RUN = 3,
    EXIT_INCONCLUSIVE = 4,
    EXIT_INTERRUPTED = 130
};

/* --verbose, the same wherever a result is printed. */
#define CMD_VERBOSE_HELP "Also details: more columns, findings, reasons"

struct tool_command;

/* The tables that a main joins. Tests pass their own; NULL is an empty one. */
struct cmd_env {
    const struct bench *const *benches;      /* NULL-terminated */
    const char *const *families;             /* of each benchmark, such as "memory"; or NULL */
    const struct scenario *scenarios;        /* ends with name NULL */
    const struct incident *const *incidents; /* ends with NULL; or NULL */
    const char *(*rule_name)(size_t i); /* of validate, for completions; NULL behind the last */
    const struct tool_command *tools;   /* whose code is in this program */
};

/* argv[0] is the subcommand's name, argv[-1] the program's. */
typedef int cmd_main(const struct cmd_env *env, int argc, char **argv);

/*
 * A command as its help shows it. Placeholders, of operands and of options, are types: SCENARIO,
 * BENCH, COMMAND and DIR mean the same wherever they stand.
 */
struct command {
    const char *name;
    cmd_main *main;         /* NULL: a tool has it, whose descriptions alone are in the core */
    const char *tool;       /* of which it is then: "doctor" */
    const char *group;      /* "Measure"; NULL = not in the list of commands */
    const char *summary;    /* its line there */
    const char *operands;   /* words that are no options, as in "[SCENARIO...]"; NULL = none */
    const char *about;      /* sentences for its help; the short one has the first of them */
    const struct opt *opts; /* may be NULL */
    struct example {
        const char *line, *text; /* "contend run", "the main job"; line NULL ends them */
    } examples[5];
    const char *word_option; /* of one without operands: what a word was probably for, "pid" */
    bool takes_params;       /* -p NAME=VALUE, of the benchmarks that it measures */
    bool is_task; /* of scenarios it takes those alone whose work per second a placement changes */
};

/* All of them, in the order of the help; NULL-terminated. Not in tools: harness/commands.c. */
extern const struct command *const command_table[];
extern const struct command run_command, bench_command, ab_command, tune_command, info_command,
    place_command, validate_command, report_command, compare_command, selfcheck_command,
    doctor_command, comms_command, help_command, version_command, completion_command, man_command;

/* The commands of a tool, in the program that has their code; ends with command NULL. */
struct tool_command {
    const struct command *command;
    cmd_main *main;
};
extern const struct tool_command comms_tool[], doctor_tool[], validate_tool[];

/*
 * Reads the command line of a command. False: the command is to return *code, after its help or a
 * message about what it cannot take.
 */
bool cmd_parse(const struct cmd_env *env, const struct command *command, int argc, char **argv,
               void *args, struct cli *cli, int *code);

/* The exit code if the measurement that a command needs first ended with `rc`. */
enum exit_code cmd_not_measured(int rc);

/* Flushes stdout. 0, or EXIT_NOT_RUN after a message: the reader of a full disk must know. */
int cmd_finish(void);

/* Prints the document, lets go of it, and finishes as above; NULL = there is no memory for it. */
int cmd_print_json(json_t *json, int indent);

#endif

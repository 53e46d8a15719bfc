/* The subcommands. Each parses its own arguments, prints, and returns the exit code. */
#ifndef CONTEND_CMD_CMD_H
#define CONTEND_CMD_CMD_H

#include <stdbool.h>

#include "harness/base/opt.h"
#include "harness/core/bench.h"
#include "harness/core/scenario.h"
#include "harness/json/value.h"

/* DESIGN.md, "Command line". */
enum exit_code {
    EXIT_GOOD = 0,
    EXIT_VERDICT = 1,
    EXIT_USAGE = 2,
    EXIT_NOT_RUN = 3,
    EXIT_INCONCLUSIVE = 4,
    EXIT_INTERRUPTED = 130
};

/* What main.c joins: the benchmarks and scenarios there are. Tests pass tables of their own. */
struct cmd_env {
    const struct bench *const *benches; /* NULL-terminated */
    const struct scenario *scenarios;   /* ends with name NULL */
};

/* argv[0] is the subcommand's name, argv[-1] the program's. */
typedef int cmd_main(const struct cmd_env *env, int argc, char **argv);

cmd_main cmd_run, cmd_bench, cmd_list, cmd_topo, cmd_place, cmd_report;

/*
 * Reads the command line of a command that takes options alone. False: the command is to return
 * *code, after its help (`about` says what it does) or a message about what it cannot take.
 */
bool cmd_parse(const struct opt *opts, const char *about, int argc, char **argv, void *args,
               int *code);

/* Of what was to be measured first, and ended with `rc`: good usage, but something did not run. */
enum exit_code cmd_not_measured(int rc);

/* Flushes stdout. 0, or EXIT_NOT_RUN after a message: the reader of a full disk must know. */
int cmd_finish(void);

/* Prints the document, lets go of it, and finishes as above; NULL = there is no memory for it. */
int cmd_print_json(json_t *json, int indent);

#endif

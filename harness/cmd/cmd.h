/* The subcommands. Each parses its own arguments, prints, and returns the exit code. */
#ifndef CONTEND_CMD_CMD_H
#define CONTEND_CMD_CMD_H

#include "harness/core/bench.h"
#include "harness/core/scenario.h"

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

/* Of what was to be measured first, and ended with `rc`: good usage, but something did not run. */
enum exit_code cmd_not_measured(int rc);

/* Flushes stdout. 0, or EXIT_NOT_RUN after a message: the reader of a full disk must know. */
int cmd_finish(void);

#endif

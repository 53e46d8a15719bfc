/*
 * A user's command as a benchmark: the worker starts it as its child, in a session of its own
 * without a terminal, bound as the worker is, and waits. Nothing of it is left behind a run.
 *
 *   command         a step is one run of it
 *   command_lines   it goes on; a step is one line of its output
 *   command_metric  a step is one run, and what counts is the number that it gives
 *   command_cost    the same of one that is the better the less it is
 *
 * A run that fails ends the worker with the reason; so does one that leaves processes behind.
 */
#ifndef CONTEND_ENGINE_COMMAND_COMMAND_BENCH_H
#define CONTEND_ENGINE_COMMAND_COMMAND_BENCH_H

#include <stdint.h>

#include "harness/contract/bench.h"
#include "harness/contract/command.h"
#include "harness/lib/sys/tree.h"

/* Limits of a command's output, for one worker in all rounds, and of its last line. */
enum { COMMAND_OUTPUT_MAX = 1 << 20, COMMAND_LINE_MAX = 4096 };

/* The report of a worker on its command, in shared memory. Zeroed = nothing. */
struct command_report {
    struct tree tree;
    uint64_t cut_bytes; /* of its output, that were not kept */
    uint32_t killed;    /* runs that did not end at SIGTERM */
};

/* Where the harness gives the orders to such a benchmark, and takes the report: ctx->command. */
struct command_seat {
    struct user_command command;
    struct command_report *report;
    struct bitset cpus;           /* that it is bound to */
    const _Atomic uint32_t *stop; /* 1 = load for others is not needed any more */
};

/* NULL where none of them has that name. */
const struct bench *command_bench_find(const char *name);

#endif

/*
 * A user's command as a benchmark: the worker starts the command as its child, in a session of its
 * own without a terminal, bound as the worker is, and waits. No process of it outlives a run.
 *
 *   command         a step is one run of the command
 *   command_lines   the command runs on; a step is one line of its output
 *   command_metric  a step is one run; its result is the number that the command gives
 *   command_cost    the same for a number of which less is better
 *
 * A run that fails, or leaves processes behind, ends the worker with the reason.
 *
 * With --load the command is a server (command_server.h), which runs from setup to teardown, and
 * each run is one of its client, on CPUs of its own.
 */
#ifndef CONTEND_ENGINE_WORKER_COMMAND_BENCH_H
#define CONTEND_ENGINE_WORKER_COMMAND_BENCH_H

#include <stdatomic.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/command.h"
#include "harness/engine/worker/command_output.h"
#include "harness/lib/sys/task.h"

/* What a worker has seen of its command's processes. */
struct command_seen {
    struct tree_used used;
    uint32_t nmasks;
    struct tree_mask mask[TREE_MASKS];
};

/* The report of a worker on its command, in shared memory. Zeroed = nothing. */
struct command_report {
    _Atomic uint32_t reports;    /* so far */
    struct command_seen seen[2]; /* by turns, so that one is whole when the worker is killed */
    uint64_t cut_bytes;          /* of its output that were dropped */
    uint32_t killed;             /* runs that did not end at SIGTERM */
    uint32_t repeated; /* metrics that a client printed several times (command_numbers.h) */
};

/* Copies the latest that the worker has reported, also while it runs on. */
void command_read_seen(const struct command_report *report, struct command_seen *out);

/* ctx->command of such a benchmark: its orders, and its report. */
struct command_orders {
    struct user_command command;
    struct command_report *report;
    struct bitset cpus;           /* to bind it to */
    struct bitset start_cpus;     /* with --keep, where its server starts */
    const _Atomic uint32_t *stop; /* 1 = other workers need no more load */
};

/* NULL if none of these benchmarks has the name. */
const struct bench *command_bench_find(const char *name);

/* With --keep: waits, with the server, until *orders is not 0. */
void command_bench_rest(struct bench_ctx *ctx, const _Atomic uint32_t *orders);

#endif

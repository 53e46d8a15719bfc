/*
 * What a user's command is judged by, if it gives several numbers, and how it is loaded, if it is a
 * server: the options of engine/contract/command.h, read. Pure.
 */
#ifndef CONTEND_ENGINE_CONTRACT_COMMAND_LOAD_H
#define CONTEND_ENGINE_CONTRACT_COMMAND_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/command.h"

enum { COMMAND_METRICS_MOST = 8, COMMAND_METRIC_NAME_MAX = 21 };

struct command_metric {
    char name[COMMAND_METRIC_NAME_MAX]; /* "" = it has none */
    const char *regex;
    bool less_is_better;
};

/*
 * Reads --metric. NAME= stands before an expression where there are several, or a client: of a
 * single one, 'rate=([0-9.]+)' is all expression. Returns how many.
 */
size_t command_metrics(const struct command_options *options,
                       struct command_metric all[COMMAND_METRICS_MOST]);

/* True if less is better of the number that decides. */
bool command_first_is_cost(const struct command_options *options);

/* -EINVAL: names that are missing, equal or unknown, and wrong expressions. */
int command_check_metrics(const struct command_options *options, struct err *err);

/*
 * What a client uses itself: its CPUs; of the time, the share in which its busiest thread ran or
 * waited for a CPU; and its part of the CPU time of client and server.
 */
enum client_metric { CLIENT_CPUS, CLIENT_THREAD, CLIENT_SHARE, CLIENT_METRICS };
extern const struct bench_metric client_metrics[CLIENT_METRICS + 1]; /* ends with name NULL */

/*
 * Metrics that such a benchmark emits: those with names, then those of the client, if there is one;
 * from *timed on those with names again, in seconds, for numbers with a unit of time. Writes the
 * end, too. Returns how many have names.
 */
enum { COMMAND_BENCH_METRICS = 2 * COMMAND_METRICS_MOST + CLIENT_METRICS + 1 };
size_t command_bench_metrics(const struct command_options *options,
                             struct bench_metric out[COMMAND_BENCH_METRICS], size_t *timed);

/* A bound on a metric, which what is recommended keeps (verdict/slo.c). */
struct slo {
    const char *text; /* as the user wrote it, borrowed */
    char metric[64];
    double value;  /* of alone: 0.1 = at most 10% worse than its job alone */
    bool of_alone; /* --protect */
    bool at_least; /* the value is the least, not the most */
    bool is_time;  /* the value is in seconds, and for numbers in seconds */
};

/* Parses "p99<=20ms" or "rps>=5000" or, of_alone, "server:p99 10%". -EINVAL */
int slo_parse(const char *text, bool of_alone, struct slo *slo, struct err *err);

/* When a server is ready. */
struct command_ready {
    enum { READY_TCP, READY_HTTP, READY_LINE } by;
    unsigned port;
    const char *text; /* the path, or the expression */
};

/* Parses "tcp:6379", "http://localhost:8000/health" or "line:REGEX", after placeholders. -EINVAL */
int command_ready_parse(const char *text, struct command_ready *ready, struct err *err);

/* -EINVAL: options of a server that contradict each other, or miss another. */
int command_check_load(const struct command_options *options, struct err *err);

#endif

/*
 * Threads for benchmarks that scan: each pinned to one CPU unless asked otherwise, asleep between
 * jobs, started together.
 *
 *   struct team team = {0};
 *   team_start(&team, ctx, os_cpus, n);
 *   uint64_t ns = team_run(&team, NULL, n, job, arg);     // job(arg, rank, n) in n threads
 *   team_stop(&team);
 *
 * The calling thread only waits; its own CPU mask does not change.
 */
#ifndef CONTEND_BENCH_COMMON_TEAM_H
#define CONTEND_BENCH_COMMON_TEAM_H

#include <stdint.h>

#include "harness/engine/contract/bench.h"

struct team {
    struct team_shared *shared;
    unsigned n;
};

/* rank 0..n-1 among the n threads that run the job. */
typedef void team_job(void *arg, unsigned rank, unsigned n);

/* The same until bench_close: team_stop is not needed. */
int team_open(struct team *team, struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n);

/* n threads wherever the worker may run; n may exceed its number of CPUs. */
int team_open_unpinned(struct team *team, struct bench_ctx *ctx, unsigned n);

/* One thread on each CPU of the machine, in its order. */
int team_open_all(struct team *team, struct bench_ctx *ctx);

/*
 * Runs job in threads members[0..n-1] (NULL: the first n), released together by a barrier, and
 * returns the nanoseconds from the first's start to the last's end (CLOCK_MONOTONIC_RAW).
 */
uint64_t team_run(struct team *team, const unsigned *members, unsigned n, team_job *job, void *arg);

/* The same in two parts, for a caller that works in between. */
void team_begin(struct team *team, const unsigned *members, unsigned n, team_job *job, void *arg);
void team_end(struct team *team);

/* Runs one function in one of the threads, alone. */
void team_call(struct team *team, unsigned member, void (*call)(void *arg), void *arg);

/* Rank's part of `count` items: begin..end-1. Parts differ by at most `grain` items. */
struct team_part {
    size_t begin, end;
};
struct team_part team_part_of(size_t count, size_t grain, unsigned rank, unsigned n);

/*
 * Load on every CPU of a worker that can be switched on and off: one pinned thread per CPU that
 * multiplies (kernels/cpu/busy.h) and touches no memory. Switched off, the threads sleep.
 *
 *   struct busy_team busy = {0};
 *   busy_team_open(&busy, ctx);
 *   busy_team_start(&busy, err);   // returns when every thread runs
 *   ...measure...
 *   busy_team_end(&busy);
 *   busy_team_check(&busy, err);   // did each compute what it counted?
 *   busy_team_close(&busy);
 */
struct busy_team {
    struct busy_team_state *state; /* NULL = closed */
};

int busy_team_open(struct busy_team *busy, const struct bench_ctx *ctx);

/* -ETIMEDOUT, naming the CPU whose thread did not run within 5 s. */
int busy_team_start(struct busy_team *busy, struct err *err);

/* Does nothing if the load is off. */
void busy_team_end(struct busy_team *busy);

/* CPU time of the threads / wall time that they were on, 0..1, over all starts; NaN before any. */
double busy_team_share(const struct busy_team *busy);

/* -EBADMSG if a thread's result does not match the steps that it counted. */
int busy_team_check(const struct busy_team *busy, struct err *err);

void busy_team_close(struct busy_team *busy);

/* Steps of busy_run (kernels/cpu/busy.h) a us of CPU time of this thread. Takes some 64 ms. */
double busy_measure_speed(void);

#endif

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

/*
 * Starts one thread on each of os_cpus[0..n-1]; NULL: of the machine's CPUs. -errno, naming the CPU
 * that was refused (offline, or outside the allowed set). After a failure team_stop is allowed, not
 * needed.
 */
int team_start(struct team *team, const struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n);

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

/* Ends and joins the threads; does nothing for a zeroed struct. */
void team_stop(struct team *team);

/* Rank's part of `count` items: begin..end-1. Parts differ by at most `grain` items. */
struct team_part {
    size_t begin, end;
};
struct team_part team_part_of(size_t count, size_t grain, unsigned rank, unsigned n);

#endif

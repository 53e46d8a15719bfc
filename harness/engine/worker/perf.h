/*
 * Hardware counters of a worker by perf_event_open(2), USAGE_COUNTERS: in user mode, of every
 * thread started after the call (inherit). Many virtual machines and containers refuse them; that
 * is no error.
 */
#ifndef CONTEND_ENGINE_WORKER_PERF_H
#define CONTEND_ENGINE_WORKER_PERF_H

#include "harness/engine/worker/usage.h"
#include "harness/lib/err.h"

#define PERF_ONE_MORE(...) +1
enum { PERF_COUNTERS = 0 USAGE_COUNTERS(PERF_ONE_MORE) };
#undef PERF_ONE_MORE

struct perf {
    int fd[PERF_COUNTERS]; /* -1 = refused */
};

/* Call before any library starts threads. Never fails: refused counters stay absent. */
void perf_open(struct perf *perf);

/* Writes all counts into so_far, or none; they are scaled if the kernel multiplexed counters. */
void perf_read(const struct perf *perf, struct usage_snapshot *snapshot);

void perf_close(struct perf *perf);

/* For the parent: 0 if counters are available, else a negative errno with the reason. */
int perf_probe(struct err *err);

#endif

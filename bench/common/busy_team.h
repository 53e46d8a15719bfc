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
#ifndef CONTEND_BENCH_COMMON_BUSY_TEAM_H
#define CONTEND_BENCH_COMMON_BUSY_TEAM_H

#include "harness/engine/contract/bench.h"

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

#endif

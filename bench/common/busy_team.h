/*
 * Load on every CPU of a worker that can be switched on and off: one pinned thread a CPU that
 * multiplies (kernels/cpu/busy.h) and touches no memory. Off, the threads sleep.
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

#include <stdbool.h>

#include "harness/contract/bench.h"

struct busy_team {
    struct busy_team_state *state; /* NULL = closed */
};

int busy_team_open(struct busy_team *busy, const struct bench_ctx *ctx);

/* -ETIMEDOUT with the CPU whose thread did not get to run within seconds. */
int busy_team_start(struct busy_team *busy, struct err *err);

/* Also fine when nothing runs. */
void busy_team_end(struct busy_team *busy);

/* CPU time that the threads got / time that they were on, 0..1, over all starts; NaN before any. */
double busy_team_share(const struct busy_team *busy);

/* -EBADMSG where a thread's result is not that of the steps it counted. */
int busy_team_check(const struct busy_team *busy, struct err *err);

void busy_team_close(struct busy_team *busy);

#endif

/*
 * Pinned threads that run a job from dose_team_start until bench_close, while the caller only
 * watches. The job must return soon after `stop` is set.
 */
#ifndef CONTEND_BENCH_DOSE_DOSE_TEAM_H
#define CONTEND_BENCH_DOSE_DOSE_TEAM_H

#include <stdatomic.h>

#include "bench/common/team.h"

struct dose_team {
    struct team team;
    bool running;
    _Alignas(128) _Atomic bool stop;
};

/* Starts one thread on each of os_cpus[0..n-1]; a CPU may occur several times. */
int dose_team_start(struct dose_team *dose_team, struct bench_ctx *ctx, const unsigned *os_cpus,
                    unsigned n, team_job *job, void *arg);

/* Returns when all threads have returned; does nothing if none runs. */
void dose_team_stop(struct dose_team *dose_team);

static inline bool dose_team_runs(const struct dose_team *dose_team)
{
    return !atomic_load_explicit(&dose_team->stop, memory_order_relaxed);
}

#endif

/* The aggressors of each kind of dose: `dose` starts them, and asks which level was held. */
#ifndef CONTEND_BENCH_DOSE_DOSE_H
#define CONTEND_BENCH_DOSE_DOSE_H

#include <stdatomic.h>

#include "bench/common/team.h"
#include "harness/engine/contract/bench.h"
#include "harness/lib/dose.h"

struct dose_ops {
    /* Starts the aggressors, until bench_close. */
    int (*start)(struct bench_ctx *ctx, double level);
    /* Returns the level since the last call (or the start), and adjusts the aggressors. */
    double (*hold)(struct bench_ctx *ctx);
    /* Stops the aggressors, and checks that they did the work that they counted; -EBADMSG if
     * not. */
    int (*check)(struct bench_ctx *ctx);
    size_t state_size;
};

extern const struct dose_ops dose_cpu, dose_memory, dose_h2d, dose_throttle;

/*
 * Pinned threads that run a job from dose_team_start until bench_close, while the caller only
 * watches. The job must return soon after `stop` is set.
 */
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

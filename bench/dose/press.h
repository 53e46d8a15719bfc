/*
 * Pinned threads that run a job from press_start until bench_close, while the caller only watches.
 * The job must return soon after `stop` is set.
 */
#ifndef CONTEND_BENCH_DOSE_PRESS_H
#define CONTEND_BENCH_DOSE_PRESS_H

#include <stdatomic.h>

#include "bench/common/team.h"

struct press {
    struct team team;
    bool running;
    _Alignas(128) _Atomic bool stop;
};

/* Starts one thread on each of os_cpus[0..n-1]; a CPU may occur several times. */
int press_start(struct press *press, struct bench_ctx *ctx, const unsigned *os_cpus, unsigned n,
                team_job *job, void *arg);

/* Returns when all threads have returned; does nothing if none runs. */
void press_stop(struct press *press);

static inline bool press_goes_on(const struct press *press)
{
    return !atomic_load_explicit(&press->stop, memory_order_relaxed);
}

#endif

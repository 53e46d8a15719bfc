/*
 * The ranks of a job while they observe an arm.
 *
 * They exchange reports, a few dozen a second and at once when a worker changes its state.
 * Decisions depend only on the last exchanged reports, which are the same in all ranks, so all
 * ranks decide alike. They also complete the barriers of the foreground workers
 * (engine/worker/barrier.h, relay). Between reports they sleep: they must not take CPUs from the
 * workers.
 */
#ifndef CONTEND_ENGINE_WATCH_H
#define CONTEND_ENGINE_WATCH_H

#include "harness/engine/job.h"

/* For each observation: open; step until all have reached a state; close, also on errors. */
int job_watch_open(struct job *job, struct barrier *barrier, struct err *err);
void job_watch_close(struct job *job);

/* How long to sleep before the next step, unless a worker changes its state. */
int job_watch_pause_ms(const struct job *job);

/*
 * Exchanges reports. Never waits, except for a barrier that all ranks have entered. `idle`: our
 * workers wait for other ranks. -EINTR: a rank was asked to end, and all ranks know; -EIO: a rank
 * does not answer any more.
 */
int job_watch_step(struct job *job, const struct job_report *mine, bool idle, struct err *err);

/* True if the workers of all ranks have reached `state`, by the last reports. */
static inline bool job_reached(const struct job *job, bool background, uint32_t state)
{
    const struct job_report *together = &job->watch.together;
    return (background ? together->all : together->foreground) >= state;
}

#endif

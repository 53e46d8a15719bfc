/*
 * The parents of a job while they observe one arm: how far are all ranks, and is one lost?
 *
 * They exchange beats, a few dozen a second and at once when a worker has news; every decision is
 * taken from the last exchanged beats, which are the same in all ranks, so that all take the same.
 * The meetings of the foreground workers (engine/worker/meeting.h, relay) are held on the way.
 * Between beats the parents sleep: they must not take CPUs from what is measured.
 */
#ifndef CONTEND_RANKS_JOB_WATCH_H
#define CONTEND_RANKS_JOB_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/engine/arms/crew.h"
#include "harness/engine/worker/meeting.h"
#include "harness/ranks/job/job.h"

struct job_watch {
    struct job *job;
    struct meeting *meeting;
    struct crew_beat mine;
    struct crew_beat *beats; /* of the last exchange; zeroed = nobody has come anywhere */
    struct crew_beat *next;  /* of the one under way */
    bool under_way, idle;
    uint64_t begun_ns, next_ns;
    uint32_t held; /* meetings */
};

/* Zeroed watch; close it also after an error. */
int job_watch_open(struct job_watch *watch, struct job *job, struct meeting *meeting,
                   struct err *err);
void job_watch_close(struct job_watch *watch);

/* How long to sleep before the next step, unless a worker has news. */
int job_watch_pause_ms(const struct job_watch *watch);

/*
 * Goes on with the exchange; never waits, except for a meeting that all ranks have come to. `idle`:
 * our workers wait for others, so that looking often disturbs nobody. -EINTR: a rank was asked to
 * stop, and all ranks know; -EIO: a rank does not answer any more.
 */
int job_watch_step(struct job_watch *watch, const struct crew_beat *mine, bool idle,
                   struct err *err);

/* By the last beats of all ranks. */
bool job_watch_past(const struct job_watch *watch, bool background, uint32_t state);
bool job_watch_lost(const struct job_watch *watch);
bool job_watch_late(const struct job_watch *watch);

#endif

/*
 * The ranks of a job as the crew of a run (engine/arms/crew.h).
 *
 * While they observe one arm, their parents exchange beats, a few dozen a second and at once when a
 * worker has news; every decision is taken from the last exchanged beats, which are the same in all
 * ranks, so that all take the same. The meetings of the foreground workers
 * (engine/worker/meeting.h, relay) are held on the way. Between beats the parents sleep: they must
 * not take CPUs from what is measured.
 */
#ifndef CONTEND_RANKS_JOB_CREW_H
#define CONTEND_RANKS_JOB_CREW_H

#include "harness/engine/arms/crew.h"
#include "harness/engine/worker/meeting.h"
#include "harness/ranks/job/job.h"

struct job_crew {
    struct crew crew;
    struct job *job;

    /* Of the observation under way. */
    struct meeting *meeting;
    struct crew_beat mine;
    struct crew_beat *beats; /* of the last exchange; zeroed = nobody has come anywhere */
    struct crew_beat *next;  /* of the one under way */
    bool under_way, idle;
    uint64_t begun_ns, next_ns;
    uint32_t held; /* meetings */
};

/* Borrows the job, and must not be moved afterwards. */
void job_crew_make(struct job_crew *crew, struct job *job);

#endif

/* The ranks of a job as the crew of a run (engine/arms/crew.h). */
#ifndef CONTEND_RANKS_JOB_CREW_H
#define CONTEND_RANKS_JOB_CREW_H

#include "harness/engine/arms/crew.h"
#include "harness/ranks/job/job.h"
#include "harness/ranks/job/watch.h"

struct job_crew {
    struct crew crew;
    struct job *job;
    struct job_watch watch; /* of the observation under way */
};

/* Borrows the job, and must not be moved afterwards. */
void job_crew_make(struct job_crew *crew, struct job *job);

#endif

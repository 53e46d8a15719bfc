/* The ranks of a job as the crew of a run (run/crew.h). */
#ifndef CONTEND_JOB_CREW_H
#define CONTEND_JOB_CREW_H

#include "harness/job/job.h"
#include "harness/job/watch.h"
#include "harness/run/crew.h"

struct job_crew {
    struct crew crew;
    struct job *job;
    struct job_watch watch; /* of the observation under way */
};

/* Borrows the job, and must not be moved afterwards. */
void job_crew_make(struct job_crew *crew, struct job *job);

#endif

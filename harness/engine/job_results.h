/*
 * Joins the observations of all ranks, each of its own workers, into one observation at rank 0.
 */
#ifndef CONTEND_ENGINE_JOB_RESULTS_H
#define CONTEND_ENGINE_JOB_RESULTS_H

#include "harness/engine/job.h"
#include "harness/engine/result.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"

/* A rank's own readings around the measured time. */
struct job_readings {
    struct bitset cpus;           /* used by its workers */
    struct usage_machine go, end; /* of those CPUs */
    /* CPU time between them: of its workers, bound to `cpus`, and of helpers, bound to no CPU. */
    double workers_s, helpers_s;
    bool stuck; /* a worker in MPI could not be ended */
};

/*
 * `rc`: how observing ended. On entry `out` has this rank's workers: its foreground worker, then
 * its background. On return rank 0's `out` has all workers in the order of arm->plan; steal and
 * foreign load are the largest of any rank. Status and reason are the same in all ranks; they name
 * ranks and hosts. If a worker is stuck, job->end is JOB_OVER and job->why gives the reason. If a
 * rank is lost, `out` is a failed observation that says so. Errors: `rc`, -ENOMEM.
 */
int job_results_join(struct job *job, const struct arm *arm, const struct job_readings *readings,
                     int rc, struct observation *out, struct err *err);

/* True if no further arm can be started; *out is then a failed observation that says why. */
bool job_refuses(const struct job *job, struct observation *out);

#endif

/*
 * Joins the observations of all ranks, each of its own workers, into one observation at rank 0.
 */
#ifndef CONTEND_RANKS_JOB_RESULTS_H
#define CONTEND_RANKS_JOB_RESULTS_H

#include "harness/engine/arms/rank_ops.h"
#include "harness/engine/arms/result.h"
#include "harness/lib/base/err.h"
#include "harness/ranks/job/job.h"

/*
 * On entry `out` has this rank's workers: its foreground worker, then its background. On return
 * rank 0's `out` has all workers in the order of arm->plan; steal and foreign load are the largest
 * of any rank. Status and reason are the same in all ranks; they name ranks and hosts. If a worker
 * is stuck, job->end is JOB_OVER and job->why gives the reason. -EIO: a rank is lost; -ENOMEM.
 */
int job_results_join(struct job *job, const struct arm *arm,
                     const struct rank_ops_readings *readings, struct observation *out,
                     struct err *err);

/* Makes `out` a failed observation of an arm that was not started or completed, for `reason`. */
void job_results_none(const char *reason, struct observation *out);

#endif

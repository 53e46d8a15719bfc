/*
 * Joins what the ranks of a job observed, each with its own workers, into one observation at rank
 * 0.
 */
#ifndef CONTEND_RANKS_JOB_RESULTS_H
#define CONTEND_RANKS_JOB_RESULTS_H

#include <stdbool.h>

#include "harness/engine/arms/rank_ops.h"
#include "harness/engine/arms/result.h"
#include "harness/lib/base/err.h"
#include "harness/ranks/job/job.h"

/*
 * On entry `out` has this rank's workers: its foreground worker, then its background. On return
 * rank 0's has all of them in the order of arm->plan; steal and foreign load are those of the rank
 * whose CPUs had the most. Status and reason are the same in all ranks; they name ranks and hosts.
 * Where a worker is stuck, job->why says that no further arm can be started. -EIO: a rank is lost.
 * -ENOMEM.
 */
int job_results_join(struct job *job, const struct arm *arm,
                     const struct rank_ops_readings *readings, struct observation *out,
                     struct err *err);

/* An observation of an arm that was not started, or not to its end, for `reason`. */
void job_results_none(const char *reason, struct observation *out);

#endif

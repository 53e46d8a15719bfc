/* The plans of all machines of a job as one: what rank 0 writes down, and each rank starts part of.
 */
#ifndef CONTEND_RANKS_JOB_PLANS_H
#define CONTEND_RANKS_JOB_PLANS_H

#include "harness/engine/arms/result.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"
#include "harness/ranks/job/job.h"

/*
 * On entry each arm's plan is for the job->plan_size ranks of this machine. On return it is for
 * all: worker r is rank r, each planned on its own machine, then the background workers of every
 * machine; arm->planned workers counts all ranks. An arm that one machine cannot express is skipped
 * on all, for that machine's reason. -EINVAL on all ranks where machines plan different arms.
 */
int job_plan_spread(struct job *job, const struct topo *topo, struct result *result,
                    struct err *err);

/* The background workers of the arm's plan that this rank starts, 0 where another rank does. */
unsigned job_plan_background(const struct job *job, const struct arm *arm, unsigned *first);

#endif

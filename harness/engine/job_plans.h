/* Joins the plans of all machines of a job into one. Rank 0 writes it; each rank starts its part.
 */
#ifndef CONTEND_ENGINE_JOB_PLANS_H
#define CONTEND_ENGINE_JOB_PLANS_H

#include "harness/engine/job.h"
#include "harness/engine/result.h"
#include "harness/lib/err.h"
#include "harness/machine/topo.h"

/*
 * On entry each arm's plan is for the job->plan_size ranks of this machine. On return it is for all
 * ranks: worker r is rank r, each planned on its own machine; then come the background workers of
 * all machines. arm->planned_workers counts all ranks. An arm that one machine cannot express is
 * skipped on all, for that machine's reason. -EINVAL on all ranks: machines plan different arms.
 */
int job_plan_spread(struct job *job, const struct topo *topo, struct result *result,
                    struct err *err);

/* How many background workers of the arm's plan this rank starts; *first is their first index. 0 if
 * another rank of the machine starts them. */
unsigned job_plan_background(const struct job *job, const struct arm *arm, unsigned *first);

/* Finds the CPUs on which the ranks of one machine are planned. */

/*
 * Fills job->ranks, plan_rank, plan_size, leaders, leaders_before and cpus_note. By default mpirun
 * binds each rank to a core or two, which leaves a placement nothing to divide. So each process
 * binds itself to all CPUs that the ranks of its machine have together. If the kernel refuses (a
 * cpuset for each task), each rank is planned alone, on its own CPUs. Needs only an open job.
 */
int job_share_cpus(struct job *job, struct err *err);

#endif

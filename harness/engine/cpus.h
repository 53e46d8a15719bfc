/* Finds the CPUs on which the ranks of one machine are planned. */
#ifndef CONTEND_ENGINE_CPUS_H
#define CONTEND_ENGINE_CPUS_H

#include "harness/engine/job.h"
#include "harness/lib/err.h"

/*
 * Fills job->ranks, plan_rank, plan_size, leaders, leaders_before and cpus_note. By default mpirun
 * binds each rank to a core or two, which leaves a placement nothing to divide. So each process
 * binds itself to all CPUs that the ranks of its machine have together. If the kernel refuses (a
 * cpuset for each task), each rank is planned alone, on its own CPUs. Needs only an open job.
 */
int job_share_cpus(struct job *job, struct err *err);

#endif

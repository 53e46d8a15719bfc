/* On which CPUs the ranks of one machine are planned. */
#ifndef CONTEND_RANKS_JOB_CPUS_H
#define CONTEND_RANKS_JOB_CPUS_H

#include "harness/lib/base/err.h"
#include "harness/ranks/job/job.h"

/*
 * Fills job->ranks, plan_rank, plan_size and cpus_note. mpirun binds each rank to a core or two
 * unless told otherwise; a placement of ours would have nothing left to divide up. So each process
 * takes all CPUs that the ranks of its machine have together. Where the kernel refuses (a cpuset
 * for each task), a rank is planned alone, on its own. Needs the messages of the job, no more.
 */
int job_share_cpus(struct job *job, struct err *err);

#endif

/* Additions to the steps of cmd/run.c for a run that is a job of several ranks. */
#ifndef CONTEND_RANKS_JOB_JOB_RUN_H
#define CONTEND_RANKS_JOB_JOB_RUN_H

#include "harness/engine/run/setup.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"
#include "harness/ranks/job/job.h"
#include "harness/ranks/job/rank_ops.h"

/* First of all: a rank other than the first prints nothing, not even the help. */
void job_run_silence(const struct job_env *env);

/*
 * Opens the job where mpirun or srun started several tasks, and tells the options. All ranks must
 * be of one version and have the same arguments. Errors, the same on all ranks: those of
 * job_open and job_share_cpus.
 */
int job_run_open(struct job *job, const struct job_env *env, struct signals *signals, int argc,
                 char **argv, struct run_options *options, struct err *err);

/*
 * After run_setup_make, which returned `rc`: rank 0's seed and run id, one transport, one plan of
 * all machines; `rank_ops` is made, and the setup's. Without a job it returns rc.
 */
int job_run_join(struct job *job, struct job_rank_ops *rank_ops, const struct topo *topo, int rc,
                 struct run_setup *setup, struct err *err);

/* After a round is written, or not (`rc`): an error ends the run on all ranks. */
int job_run_round(struct job *job, int rc, struct err *err);

/* One line for run.json: how many ranks on which hosts, started by what. */
char *job_run_describe(const struct job *job, char *buf, size_t size);

#endif

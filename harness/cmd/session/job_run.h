/* Additions to the steps of cmd/run.c for a run that is a job of several ranks. */
#ifndef CONTEND_CMD_SESSION_JOB_RUN_H
#define CONTEND_CMD_SESSION_JOB_RUN_H

#include "harness/engine/job.h"
#include "harness/engine/setup.h"
#include "harness/lib/err.h"
#include "harness/machine/topo.h"

/* Call before anything is printed: only rank 0 prints, even of the help. */
void job_run_mute_other_ranks(const struct job_env *env);

/*
 * Opens the job if mpirun or srun started several tasks, and sets options->ranks and ranks_here.
 * All ranks must have the same version and arguments (-EINVAL). Other errors, the same on all
 * ranks: those of job_open and job_share_cpus.
 */
int job_run_open(struct job *job, const struct job_env *env, struct signals *signals, int argc,
                 char **argv, struct run_options *options, struct err *err);

/*
 * Call after run_setup_make, with its `rc`. All ranks take rank 0's seed, times and run id, check
 * that they have one transport, and join their plans. The setup borrows the job. Without a job it
 * returns rc.
 */
int job_run_join(struct job *job, const struct topo *topo, int rc, struct run_setup *setup,
                 struct err *err);

/* Call after a round was written; `rc` is the result. An error ends the run on all ranks. */
int job_run_round(struct job *job, int rc, struct err *err);

/* One line for run.json: number of ranks, launcher, MPI library and hosts. Returns buf. */
char *job_run_describe(const struct job *job, char *buf, size_t size);

#endif

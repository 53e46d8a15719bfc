/*
 * Variants that are other builds of contend. Each observation is a whole run of one round by that
 * build: `PATH run SCENARIO --rounds 1 ... --out DIR/builds/VARIANT/ROUND`. Its values are read
 * from its files. This program runs variants without a build in the same way.
 */
#ifndef CONTEND_CMD_SESSION_BUILDS_H
#define CONTEND_CMD_SESSION_BUILDS_H

#include "harness/engine/job.h"
#include "harness/engine/setup.h"
#include "harness/lib/err.h"
#include "harness/lib/opt.h"
#include "harness/machine/topo.h"
#include "harness/show/json/recorded.h"
#include "harness/verdict/verdict.h"

/* Zeroed = none. Everything except `runs` is borrowed. */
struct builds {
    const struct bench *const *benches;
    const struct run_options *options;
    const struct cli *cli;
    const struct run_setup *setup;
    const char *dir; /* directory of the whole result */
    size_t n, capacity;
    struct build_run {
        struct recorded recorded;
        const struct arm *arm; /* the arm of this session that the run measures */
        size_t recorded_arm;   /* index of the same arm in `recorded` */
        unsigned round;
    } * *runs; /* owned; in order of rounds */
};

/*
 * Checks that each variant has exactly one arm, else -EINVAL with the numbers, and that each build
 * is executable, else -errno.
 */
int builds_check(const struct run_setup *setup, struct err *err);

/* For struct observe_config: fills the observation's status. `arg` is a struct builds. */
int builds_observe(void *arg, const struct arm *arm, struct signals *signals,
                   struct observation *observation, struct err *err);

/* As verdict_make, for the runs of builds; borrows from them. The only error is -ENOMEM. */
int builds_judge(const struct builds *builds, const struct topo *topo, struct verdict *verdict,
                 struct err *err);

void builds_free(struct builds *builds);

/* Additions to the steps of cmd/run.c for a run that is a job of several ranks. */

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

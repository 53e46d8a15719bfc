/*
 * Several processes that mpirun or srun started as one run: one process = one rank.
 *
 * All ranks parse the same options and follow the same steps; rank 0 writes the results. The main
 * threads exchange small messages through rank 0, and sleep while they wait. So rank 0 can name the
 * rank that does not answer.
 *
 *   job_env_read(getenv, &env);                     before anything is printed
 *   if (env.launcher) rc = job_open(&job, &env, &signals, &err);
 *   rc = job_agree(&job, rc, &err);                 wherever one rank alone may have failed
 *   code = job_close(&job, code);
 *
 * A zeroed struct job is a run of one process: job_agree returns its rc, job_close its code. Only
 * the module contend_mpi.so uses MPI (harness/contract/mpi_ops.h), in a process of its own
 * (ranks/mpi/client.h). The module is $CONTEND_MPI_MODULE if that is set; else it is searched in
 * the program's folder, in lib/ there, and in ../lib/contend.
 */
#ifndef CONTEND_RANKS_JOB_JOB_H
#define CONTEND_RANKS_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/mpi_ops.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/lib/sys/signals.h"
#include "harness/ranks/job/launcher.h"
#include "harness/ranks/mpi/client.h"
#include "harness/ranks/mpi/lifeline.h"

enum { JOB_TEXT_MAX = 64 };

struct job_rank {
    char host[JOB_TEXT_MAX];
    char machine[JOB_TEXT_MAX]; /* the same for ranks on one machine, even if host names differ */
    struct bitset cpus;         /* os_cpu it was started on */
};

/* How a job is ending, by severity: later values include what earlier ones mean. */
enum job_end {
    JOB_GOES_ON,
    JOB_STUCK,    /* all ranks were interrupted; our worker is in MPI, so no MPI_Finalize */
    JOB_OVER,     /* no further arm can be started */
    JOB_LOST,     /* a rank does not answer: nothing more can be exchanged */
    JOB_SIGNALED, /* a signal ended the wait for other ranks: no rank is lost */
    JOB_CUT_OFF   /* our MPI process has ended */
};

struct job {
    const struct mpi_calls *calls; /* NULL: a run of one process */
    const char *launcher;
    struct mpi_ops_world world;
    struct job_rank *ranks; /* world.size of them */
    /* Among the ranks whose CPUs are planned together; the first starts their background. */
    unsigned plan_rank, plan_size;
    unsigned leaders, leaders_before; /* ranks with plan_rank 0: of all, of those before ours */
    char cpus_note[300];              /* effect of the launcher's binding on the plan, or "" */
    struct signals *signals;
    double answer_limit_s; /* a rank that does not answer within this time is lost */
    unsigned awaited;      /* a rank whose message is missing */
    struct lifeline lines;
    enum job_end end;
    char why[252]; /* reason of JOB_OVER and later ends */
};

/*
 * Loads the module and starts MPI. Then come job_share_cpus and job_make_lines (job_run.c). Errors,
 * the same on all ranks where MPI has started: -ENOENT no module (the message says what to do),
 * -EINVAL MPI sees another number of ranks than the launcher, -ENOMEM, -EIO.
 */
int job_open(struct job *job, const struct job_env *env, struct signals *signals, struct err *err);

/* Connects each rank to rank 0 by a lifeline, if possible (ranks/mpi/lifeline.h). Needs job->ranks.
 */
int job_make_lines(struct job *job, struct err *err);

/*
 * Ends the job in good order, or by MPI_Abort if a rank is lost or stuck. Returns this process's
 * exit code: `code`, but in good order 0 for ranks other than 0, so that the launcher reports rank
 * 0's.
 */
int job_close(struct job *job, int code);

/*
 * all[r * bytes ..] becomes what rank r gave, in every rank; sleeps until then. -EIO: a rank is
 * lost, see job->why; -ENOMEM: `all` is NULL, as the caller found no memory for it.
 */
int job_gather(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);

/* The same in two steps, without waiting. job_gather_test returns 1: done, 0: not yet, or -EIO. */
int job_gather_begin(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);
int job_gather_test(struct job *job, struct err *err);

/* Call when job_gather_test took longer than answer_limit_s: finds the lost rank. Returns -EIO. */
int job_find_lost(struct job *job, struct err *err);

/* Like job_gather, but only rank 0 gets the data; `all` of other ranks may be NULL. */
int job_collect(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);

/* All ranks return the same: 0, or the code of the first rank with an error, and its message. */
int job_agree(struct job *job, int rc, struct err *err);

/* -EINVAL on all ranks unless `text` is the same in all; `what` names it in the message. */
int job_require_same(struct job *job, const char *what, const char *text, struct err *err);

/*
 * True if a signal asked us to stop so long ago that we cannot wait for other ranks any longer: the
 * launcher kills us soon.
 */
bool job_stop_grace_is_over(const struct job *job);

/* Tells other ranks, if there is a lifeline, that this rank ends because of its own error. */
void job_fail(struct job *job, const char *why);

/* "rank 1 (host b)" in buf. */
char *job_rank_name(const struct job *job, unsigned rank, char *buf, size_t size);

static inline bool job_is_lost(const struct job *job)
{
    return job->end >= JOB_LOST;
}

static inline bool job_is_first(const struct job *job)
{
    return job->world.rank == 0;
}

#endif

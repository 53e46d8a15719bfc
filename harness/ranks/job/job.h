/*
 * Several processes that mpirun or srun started as one run: one process = one rank.
 *
 * All ranks parse the same options and follow the same steps; rank 0 writes the results. Their
 * messages go through rank 0, in small messages between the main threads, which sleep
 * while they wait. So rank 0 can name the rank that does not answer.
 *
 *   job_env_read(getenv, &env);                     before anything is printed
 *   if (env.launcher) rc = job_open(&job, &env, &signals, &err);
 *   rc = job_agree(&job, rc, &err);                 wherever one rank alone may have failed
 *   code = job_close(&job, code);
 *
 * A zeroed struct job is a run of one process: job_agree returns what it is given, job_close its
 * code. MPI is in the module contend_mpi.so alone (harness/contract/mpi_ops.h), and is called in a
 * process of its own (ranks/mpi/client.h). The module is looked for at $CONTEND_MPI_MODULE, else
 * beside the program, in lib/ there, and in ../lib/contend.
 */
#ifndef CONTEND_RANKS_JOB_JOB_H
#define CONTEND_RANKS_JOB_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    char machine[JOB_TEXT_MAX]; /* the same for ranks on one machine, whatever its hosts' names */
    struct bitset cpus;         /* os_cpu it was started on */
};

/* How far a job has come to its end: a later one holds for the earlier ones, too. */
enum job_end {
    JOB_GOES_ON,
    JOB_STUCK,  /* all end, interrupted, and our worker is in MPI: it cannot be finalized */
    JOB_OVER,   /* no further arm can be started */
    JOB_LOST,   /* somebody does not answer: nothing more can be exchanged */
    JOB_TOLD,   /* by a signal, and the others did not answer in time: none of them is lost */
    JOB_CUT_OFF /* our MPI process has ended */
};

struct job {
    const struct mpi_calls *calls; /* NULL: a run of one process */
    const char *launcher;
    struct mpi_ops_world world;
    struct job_rank *ranks; /* world.size of them */
    /* Among the ranks whose CPUs are planned together; the first one starts their background. */
    unsigned plan_rank, plan_size;
    unsigned leaders, leaders_before; /* such first ones, of all ranks and of those before ours */
    char cpus_note[300]; /* what the launcher's binding means for the plan; "" = nothing */
    struct signals *signals;
    double patience_s; /* a rank that does not answer for so long is lost */
    unsigned awaited;  /* a rank whose message is missing */
    struct lifeline lines;
    enum job_end end;
    char why[252]; /* of JOB_OVER and what comes after it */
};

/*
 * Loads the module and starts MPI. Then come job_share_cpus and job_make_lines (job_run.c). Errors,
 * the same on all ranks where MPI has started: -ENOENT no module (the message says what to do),
 * -EINVAL MPI sees another number of ranks than the launcher, -ENOMEM, -EIO.
 */
int job_open(struct job *job, const struct job_env *env, struct signals *signals, struct err *err);

/* A line from each rank to rank 0, where there is a way (ranks/mpi/lifeline.h). Needs job->ranks
 * filled.
 */
int job_make_lines(struct job *job, struct err *err);

/*
 * Ends the job in good order, or all of it by MPI_Abort where a rank is lost or stuck. Returns this
 * process's exit code: in good order rank 0's own, 0 of others, so that the launcher reports rank
 * 0's.
 */
int job_close(struct job *job, int code);

/*
 * all[r * bytes ..] becomes what rank r gave, in every rank; sleeps until then. -EIO: a rank is
 * lost, see job->why; -ENOMEM: `all` is NULL, as the caller found no memory for it.
 */
int job_gather(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);

/* The same in two steps, for one who has other things to do: 1 = done, 0 = not yet, -EIO. */
int job_gather_begin(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);
int job_gather_test(struct job *job, struct err *err);

/* For who waited longer than patience_s for job_gather_test: finds who is lost. Returns -EIO. */
int job_lose(struct job *job, struct err *err);

/* The same in rank 0 alone; of others, `all` may be NULL. */
int job_collect(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);

/* All ranks return the same: 0, or the code of the first that had one, with its name and message.
 */
int job_agree(struct job *job, int rc, struct err *err);

/* -EINVAL on all ranks unless `text` is the same in all; `what` names it in the message. */
int job_require_same(struct job *job, const char *what, const char *text, struct err *err);

/*
 * Whether a signal has asked us to stop, so long ago that ranks that have not answered will not
 * before the launcher kills us.
 */
bool job_past_last_words(const struct job *job);

/* Tells the others, where there is a line, that this rank ends for a reason of its own. */
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

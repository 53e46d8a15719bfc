/*
 * Several processes that mpirun or srun started as one run: one process = one rank.
 *
 * All ranks parse the same options and follow the same steps; rank 0 writes the results. Each has
 * MPI in its process. The main threads exchange small messages through rank 0, and sleep while they
 * wait. So rank 0 can name the rank that does not answer, which no MPI collective could.
 *
 *   job_env_read(getenv, &env);                     before anything is printed
 *   if (env.launcher) rc = job_open(&job, &env, &signals, &err);
 *   rc = job_agree(&job, rc, &err);                 wherever one rank alone may have failed
 *   code = job_close(&job, code);
 *
 * A zeroed struct job is a run of one process: job_agree returns its rc, job_close its code. Only
 * the module contend_mpi.so is linked with MPI (harness/engine/contract/peers.h). The module is
 * $CONTEND_MPI_MODULE if that is set; else it is searched in the program's folder, in lib/ there,
 * and in ../lib/contend.
 */
#ifndef CONTEND_ENGINE_JOB_H
#define CONTEND_ENGINE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/peers.h"
#include "harness/engine/worker/shared.h"
#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/sys/signals.h"

/*
 * Finds out from the environment, before MPI is started, whether mpirun, srun or a similar launcher
 * started this process as one of several.
 */
struct job_env {
    const char *launcher; /* "mpirun" or "srun"; NULL = started alone, or as the only task */
    unsigned rank, size;
    bool wired; /* the launcher offers what MPI needs to find other ranks: PMI, PMIx, or its own */
};

/*
 * Reads Open MPI's OMPI_COMM_WORLD_*, the PMI_* of MPICH and its relatives, and the SLURM_* of a
 * job step of several tasks. A shell inside an allocation, or a job of one task, does not count as
 * a job. `get` is getenv, or a test's substitute.
 */
void job_env_read(char *(*get)(const char *name), struct job_env *env);

enum { JOB_TEXT_MAX = 64 };

struct job_rank {
    char host[JOB_TEXT_MAX];
    char machine[JOB_TEXT_MAX]; /* the same for ranks on one machine, even if host names differ */
    struct bitset cpus;         /* os_cpu it was started on */
};

/* How a job is ending, by severity. */
enum job_end {
    JOB_GOES_ON,
    JOB_OVER,  /* no further arm can be started: a worker is stuck in MPI */
    JOB_LOST,  /* a rank does not answer: nothing more can be exchanged */
    JOB_FAILED /* the same, by an error that only this rank had */
};

/*
 * The report of one rank. States are those of engine/worker/shared.h; WORKER_STATES = ended and
 * reaped.
 */
struct job_report {
    uint32_t foreground, all; /* least state of its foreground worker, of all its workers */
    uint32_t lost;            /* 1: one of them failed, hung or died */
    uint32_t timed_out;       /* 1: the time of this phase is over */
    uint32_t interrupted;     /* 1: a signal asked this rank to stop */
    uint32_t posted, bytes;   /* barriers its worker posted a block for; its last block's size */
};

struct job {
    const struct mpi_ops *mpi; /* NULL: a run of one process */
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
    enum job_end end;
    char why[252]; /* reason of an end, or "" */

    /* The current observation (job.h). */
    struct job_watch {
        struct barrier *barrier;
        struct job_report mine, *reports, together; /* all zero = no exchange yet */
        bool under_way, idle;
        uint64_t begun_ns, next_ns;
        uint32_t completed; /* completed barriers */
    } watch;
};

/*
 * Loads the module and starts MPI; then comes job_share_cpus. Errors, the same on all ranks where
 * MPI has started: -ENOENT no module (the message says what to do), -EINVAL MPI sees another number
 * of ranks than the launcher, -ENOMEM, -EIO.
 */
int job_open(struct job *job, const struct job_env *env, struct signals *signals, struct err *err);

/*
 * Ends the job in good order, or by MPI_Abort if a rank is lost or stuck; MPI then ends this
 * process, with `code`. Returns this process's exit code: `code`, but in good order 0 for ranks
 * other than 0, so that the launcher reports rank 0's.
 */
int job_close(struct job *job, int code);

/*
 * all[r * bytes ..] becomes what rank r gave, in every rank; sleeps until then. -EIO: a rank is
 * lost, see job->why; -ENOMEM: `all` is NULL, as the caller found no memory for it.
 */
int job_gather(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);

/* Like job_gather, but only rank 0 gets the data; `all` of other ranks may be NULL. */
int job_collect(struct job *job, const void *mine, void *all, size_t bytes, struct err *err);

/* All ranks return the same: 0, or the code of the first rank with an error, and its message. */
int job_agree(struct job *job, int rc, struct err *err);

/* -EINVAL on all ranks unless `text` is the same in all; `what` names it in the message. */
int job_require_same(struct job *job, const char *what, const char *text, struct err *err);

/* An error that other ranks do not know, and would wait for: this rank reports it itself, and its
 * job_close ends them. */
void job_fail(struct job *job, const char *why);

/* "rank 1 (host b)" in buf. */
const char *job_rank_name(const struct job *job, unsigned rank);

static inline bool job_is_lost(const struct job *job)
{
    return job->end >= JOB_LOST;
}

static inline bool job_is_first(const struct job *job)
{
    return job->world.rank == 0;
}

/*
 * The ranks of a job while they observe an arm.
 *
 * They exchange reports, a few dozen a second and at once when a worker changes its state.
 * Decisions depend only on the last exchanged reports, which are the same in all ranks, so all
 * ranks decide alike. They also complete the barriers of the foreground workers
 * (engine/worker/shared.h, relay). Between reports they sleep: they must not take CPUs from the
 * workers.
 */

/* For each observation: open; step until all have reached a state; close, also on errors. */
int job_watch_open(struct job *job, struct barrier *barrier, struct err *err);
void job_watch_close(struct job *job);

/* How long to sleep before the next step, unless a worker changes its state. */
int job_watch_pause_ms(const struct job *job);

/*
 * Exchanges reports. Never waits, except for a barrier that all ranks have entered. `idle`: our
 * workers wait for other ranks. -EINTR: a rank was asked to end, and all ranks know; -EIO: a rank
 * does not answer any more.
 */
int job_watch_step(struct job *job, const struct job_report *mine, bool idle, struct err *err);

/* True if the workers of all ranks have reached `state`, by the last reports. */
static inline bool job_reached(const struct job *job, bool background, uint32_t state)
{
    const struct job_report *together = &job->watch.together;
    return (background ? together->all : together->foreground) >= state;
}

#endif

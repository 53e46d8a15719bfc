/*
 * Calls to the other ranks if a run is one rank of several (ranks/job/rank_ops.h implements them).
 * All ranks have the same arms and take the same steps; each starts its own workers of an arm. NULL
 * in place of a rank_ops: all workers are ours.
 */
#ifndef CONTEND_ENGINE_ARMS_RANK_OPS_H
#define CONTEND_ENGINE_ARMS_RANK_OPS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/engine/arms/result.h"
#include "harness/engine/worker/barrier.h"
#include "harness/engine/worker/usage.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"

/*
 * The report of one rank. States are those of engine/worker/shared.h; WORKER_STATES = ended and
 * reaped.
 */
struct rank_ops_report {
    uint32_t foreground, all; /* least state of its foreground worker, of all its workers */
    uint32_t lost;            /* 1: one of them failed, hung or died */
    uint32_t timed_out;       /* 1: the time of this phase is over */
    uint32_t interrupted;     /* 1: a signal asked this rank to stop */
    uint32_t posted, bytes;   /* barriers its worker posted a block for; its last block's size */
};

/* A rank's own readings around the measured time. */
struct rank_ops_readings {
    struct bitset cpus;           /* used by its workers */
    struct usage_machine go, end; /* of those CPUs */
    /* CPU time between them: of its workers, bound to `cpus`, and of helpers, bound to no CPU. */
    double workers_s, helpers_s;
    bool stuck; /* a worker of rank_ops->start could not be ended */
};

/* Every function takes `arg` first. */
struct rank_ops {
    void *arg;

    /* Our workers in the arm's plan: *first is our only foreground worker; background workers are
     * from *first_background on. Returns how many background workers we have. */
    unsigned (*select_workers)(void *arg, const struct arm *arm, unsigned *first,
                               unsigned *first_background);
    /* True if no further arm can be started; *out is then a failed observation that says why. */
    bool (*refuses)(void *arg, struct observation *out);

    /* For each observation: open; step until all have reached a state; join; close, also on errors.
     */
    int (*open)(void *arg, struct barrier *barrier, struct err *err);
    void (*close)(void *arg);
    /* How long to sleep before the next step, unless a worker changes its state. */
    int (*pause_ms)(void *arg);
    /* Exchanges reports. `idle`: our workers wait for other ranks. -EINTR: a rank was asked to end,
     * and all ranks know; -EIO: a rank does not answer any more. */
    int (*step)(void *arg, const struct rank_ops_report *mine, bool idle, struct err *err);
    /* From the last reports of all ranks, so the same result in all ranks. */
    bool (*reached)(void *arg, bool background, uint32_t state);
    bool (*lost)(void *arg);
    bool (*timed_out)(void *arg);
    /* A rank is lost for good: our launcher ends us soon. */
    bool (*broken)(void *arg);
    /* Turns `out`, with our workers, into the observation of all; `rc`: how observing ended. */
    int (*join)(void *arg, const struct arm *arm, const struct rank_ops_readings *readings, int rc,
                struct observation *out, struct err *err);
    /* Tells the other ranks of an error that only this rank had. */
    void (*fail)(void *arg, const char *why);

    /* The process of a worker that is a thread of a longer-lived process; 0 = it has ended. */
    pid_t (*pid)(void *arg);
    int (*start)(void *arg, int shared_fd, int event_fd, unsigned index, struct err *err);
    bool (*joined)(void *arg);             /* the worker's thread has ended */
    bool (*ended)(void *arg, int *status); /* its process has; *status as of waitpid */
};

#endif

/*
 * Calls to the other ranks where a run is one rank of several (ranks/job/rank_ops.h fills them):
 * all have the same arms and take the same steps, each starts its own workers of an arm. Without a
 * rank_ops, NULL, all workers are ours.
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
struct rank_ops_beat {
    uint32_t foreground, all; /* the least state of its foreground worker; of all its workers */
    uint32_t lost;            /* 1: one of them failed, hung or died */
    uint32_t late;            /* 1: the time of this phase is over */
    uint32_t interrupted;     /* 1: a signal asked this rank to stop */
    uint32_t posted, bytes;   /* barriers that its worker has asked for; of a block in the last */
};

/* A rank's own readings around the measured time. */
struct rank_ops_readings {
    struct bitset cpus;           /* that its workers use */
    struct usage_machine go, end; /* of those CPUs */
    /* CPU time meanwhile: of its workers, which are bound to those, and of us, who are anywhere. */
    double workers_s, helpers_s;
    bool stuck; /* a worker of rank_ops->start could not be ended */
};

/* Every function takes `arg` first. */
struct rank_ops {
    void *arg;

    /* Our places in the arm's plan: *first in front, where we have one, *behind and as many more as
     * it returns. */
    unsigned (*find_ours)(void *arg, const struct arm *arm, unsigned *first, unsigned *behind);
    /* True when no further arm can be started: *out is then a failed observation that says why. */
    bool (*refuses)(void *arg, struct observation *out);

    /* One observation: open; step until all are past a state; join; close also after an error. */
    int (*open)(void *arg, struct barrier *barrier, struct err *err);
    void (*close)(void *arg);
    /* How long to sleep before the next step, unless a worker has news. */
    int (*pause_ms)(void *arg);
    /* Goes on telling. `idle`: our workers wait for others. -EINTR: a rank was asked to end, and
     * all know; -EIO: one does not answer any more. */
    int (*step)(void *arg, const struct rank_ops_beat *mine, bool idle, struct err *err);
    /* By what all said last, the same in all ranks. */
    bool (*past)(void *arg, bool background, uint32_t state);
    bool (*lost)(void *arg);
    bool (*late)(void *arg);
    /* A rank is lost for good: our launcher ends us soon. */
    bool (*broken)(void *arg);
    /* `out`, with our workers, becomes that of all; `rc` is how observing it ended. */
    int (*join)(void *arg, const struct arm *arm, const struct rank_ops_readings *readings, int rc,
                struct observation *out, struct err *err);
    /* Tells the others of an error that we alone had. */
    void (*fail)(void *arg, const char *why);

    /* A worker that is no process of ours, but a thread of one that outlives it: 0 = that has
     * ended. */
    pid_t (*pid)(void *arg);
    int (*start)(void *arg, int shared_fd, int event_fd, unsigned index, struct err *err);
    bool (*joined)(void *arg);             /* the worker has come to its end */
    bool (*ended)(void *arg, int *status); /* its process has, for waitpid's macros */
};

#endif

/*
 * A worker on device mpi: a thread of the process that mpirun started, as MPI can be called only
 * there. It goes through the same phases on the same arena as a worker process (worker.h). Rounds
 * share their processes; and a thread that waits in MPI for a rank that is gone cannot be ended.
 */
#ifndef CONTEND_JOB_WORKER_H
#define CONTEND_JOB_WORKER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "harness/arena.h"
#include "harness/core/bench.h"
#include "harness/core/err.h"
#include "harness/core/mpi_ops.h"

struct job_worker {
    struct arena *arena;
    unsigned index;
    const struct bench *bench;
    const struct mpi_ops *mpi;
    bool may_call; /* MPI_THREAD_MULTIPLE; without it the worker is skipped */
    pthread_t thread;
    _Atomic bool ended;
};

/* Starts worker `index` of the arena. The struct must live as long as the thread. -errno. */
int job_worker_start(struct job_worker *worker, struct err *err);

/* True, and joined, when it has come to its end; false while it runs. */
bool job_worker_reap(struct job_worker *worker);

#endif

#include "harness/job_worker.h"

#include <errno.h>

#include "harness/launch.h"
#include "harness/worker.h"

static void *run_thread(void *arg)
{
    struct job_worker *worker = arg;
    struct arena_worker *slot = &worker->arena->worker[worker->index];
    enum worker_state end = launch_bind(&slot->plan, &slot->err);
    if (end == WORKER_LAUNCHED && !worker->may_call) {
        (void)err_set(&slot->err, -ENOTSUP,
                      "this MPI does not allow calls from a thread (MPI_THREAD_MULTIPLE)");
        end = WORKER_SKIPPED;
    }
    if (end == WORKER_LAUNCHED)
        worker_serve(worker->bench, worker->arena, worker->index, worker->mpi);
    else
        arena_set_state(worker->arena, slot, end);
    atomic_store(&worker->ended, true);
    arena_wake(worker->arena);
    return NULL;
}

int job_worker_start(struct job_worker *worker, struct err *err)
{
    atomic_store(&worker->ended, false);
    int error = pthread_create(&worker->thread, NULL, run_thread, worker);
    return error ? err_sys(err, -error, "cannot start a thread for the worker") : 0;
}

bool job_worker_reap(struct job_worker *worker)
{
    return atomic_load(&worker->ended) && !pthread_join(worker->thread, NULL);
}

/* The child's side of an observation: one benchmark in one bound process. */
#ifndef CONTEND_ENGINE_WORKER_WORKER_H
#define CONTEND_ENGINE_WORKER_WORKER_H

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/peers.h"
#include "harness/engine/worker/shared.h"

/*
 * Main of a process that launch_worker started. Returns its exit code: 0 unless the shared memory
 * or the command line cannot be used; all other errors are reported through the shared memory.
 */
int worker_main(const struct bench *const *benches, int argc, char **argv);

/*
 * The same in a thread that is bound already, one at a time: MPI can be started only once for a
 * rank, so the rounds share its process. Returns when the worker has ended, with or without
 * success.
 */
void worker_serve(const struct bench *bench, struct shared *shared, unsigned index,
                  const struct mpi_ops *mpi);

#endif

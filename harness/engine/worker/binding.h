/*
 * The binding of a worker, read back: its CPUs and memory policy at the start, the masks of its
 * threads at the end, the nodes of its pages. A difference from the plan is an error.
 */
#ifndef CONTEND_ENGINE_WORKER_BINDING_H
#define CONTEND_ENGINE_WORKER_BINDING_H

#include <stdbool.h>

#include "harness/engine/contract/bench.h"
#include "harness/engine/worker/shared.h"

/*
 * Reads back CPUs and memory policy at the start. A thread in MPI (`is_thread`) has
 * just bound itself. A worker process was bound before its libraries were loaded: if the user's
 * environment makes libgomp bind threads, the mask at process start counts. -EXDEV: the binding is
 * not the planned one. Errors are in slot->err.
 */
int binding_read_back(struct shared_worker *slot, bool is_thread);

/*
 * Checks the masks again after the run, as libraries may shrink them: of `all` threads of the
 * process, or only of this thread if not all threads belong to the worker.
 */
int binding_read_back_threads(struct shared_worker *slot, bool all);

/* Asks the kernel for the nodes of the published buffer's pages; of at most 4096, evenly spaced. */
void binding_count_pages(const struct bench_ctx *ctx, struct shared_worker *slot);

#endif

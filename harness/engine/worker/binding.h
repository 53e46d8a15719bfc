/*
 * The binding of a worker, read back: its CPUs and memory policy at the start, the masks of its
 * threads at the end, the nodes of its pages. A difference from the plan is an error.
 */
#ifndef CONTEND_ENGINE_WORKER_BINDING_H
#define CONTEND_ENGINE_WORKER_BINDING_H

#include <stdbool.h>

#include "harness/contract/bench.h"
#include "harness/engine/worker/shared.h"

/*
 * A thread of the MPI process (`is_thread`) was bound here, a process before its libraries came:
 * libgomp has bound it further by now, where the user's environment tells it to.
 * -EXDEV where it is not what was planned, in slot->err as the rest.
 */
int binding_read_back(struct shared_worker *slot, bool is_thread);

/*
 * Libraries are known to shrink masks behind one's back: `all` threads again, after the run, or
 * this one where the process has others than the worker's.
 */
int binding_read_back_threads(struct shared_worker *slot, bool all);

/* Asks the kernel where the pages of the published buffer lie; at most 4096 evenly chosen ones. */
void binding_count_pages(const struct bench_ctx *ctx, struct shared_worker *slot);

#endif

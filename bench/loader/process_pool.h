/*
 * Loaders that are processes. A separate process starts them and waits for them, on orders of the
 * worker. It is forked before the worker has a device or threads, as neither survives a fork.
 *
 *   rc = process_pool_open(&process_pool, &load, err);       first of all
 *   rc = process_pool_start(&process_pool, LOAD_PROCESS, 4, &fresh, err);
 *   ... process_pool_fd() is readable when one was lost, and process_pool_lost() says how ...
 *   queue_end(...); rc = process_pool_stop(&process_pool, err);
 *   process_pool_close(&process_pool);                       ends all; a zeroed struct is allowed
 *
 * All these processes die with the worker. PyTorch's process takes seconds to start, so it stays
 * until process_pool_close: it rests between process_pool_stop and the next start.
 */
#ifndef CONTEND_BENCH_LOADER_PROCESS_POOL_H
#define CONTEND_BENCH_LOADER_PROCESS_POOL_H

#include "bench/loader/load.h"
#include "harness/lib/sys/process.h"

struct process_pool {
    struct process process;
    int fd; /* the worker's socket; open while there is a process */
};

int process_pool_open(struct process_pool *process_pool, const struct load *load, struct err *err);

/*
 * Returns when the processes exist; they may not work yet. *fresh: PyTorch's process is new.
 * -ENOTSUP if the system refuses to start them; -EIO if the process that starts loaders is gone.
 */
int process_pool_start(struct process_pool *process_pool, enum load_mode mode, unsigned loaders,
                       bool *fresh, struct err *err);

/* Call it after queue_end: waits for all loaders, and kills those that do not end. */
int process_pool_stop(struct process_pool *process_pool, struct err *err);

int process_pool_fd(const struct process_pool *process_pool);

/* Reads how a loader ended: -EIO, or -ENOTSUP if the loader cannot work here. */
int process_pool_lost(struct process_pool *process_pool, struct err *err);

void process_pool_close(struct process_pool *process_pool);

#endif

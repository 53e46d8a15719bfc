/*
 * Loaders that are processes. They are started by a process of their own, forked before the worker
 * has a device or threads, as neither survives a fork: the worker orders, it starts and waits.
 *
 *   rc = process_pool_open(&process_pool, &load, err);       first of all
 *   rc = process_pool_start(&process_pool, LOAD_PROCESS, 4, &fresh, err);
 *   ... process_pool_fd() is readable when one was lost, and process_pool_lost() says how ...
 *   queue_end(...); rc = process_pool_stop(&process_pool, err);
 *   process_pool_close(&process_pool);                       ends all; fine for a zeroed struct
 *
 * All of them die with the worker. PyTorch's process stays until the process pool's end, as it
 * takes seconds to start: it is at rest between process_pool_stop and the next start.
 */
#ifndef CONTEND_BENCH_LOADER_PROCESS_POOL_H
#define CONTEND_BENCH_LOADER_PROCESS_POOL_H

#include "bench/loader/load.h"
#include "harness/lib/sys/process.h"

struct process_pool {
    struct process process;
    int fd; /* of the worker, a socket; open while there is a process */
};

int process_pool_open(struct process_pool *process_pool, const struct load *load, struct err *err);

/*
 * Returns when they are started, not when they have begun. *fresh: the process of PyTorch is new.
 * -ENOTSUP where the system starts no more.
 */
int process_pool_start(struct process_pool *process_pool, enum load_mode mode, unsigned loaders,
                       bool *fresh, struct err *err);

/* Behind queue_end: waits for all of them, kills who does not end. */
int process_pool_stop(struct process_pool *process_pool, struct err *err);

int process_pool_fd(const struct process_pool *process_pool);

/* Reads what became of a loader: -EIO, or -ENOTSUP where it found that it cannot work here. */
int process_pool_lost(struct process_pool *process_pool, struct err *err);

void process_pool_close(struct process_pool *process_pool);

#endif

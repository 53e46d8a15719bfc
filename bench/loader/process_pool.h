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

#include <pthread.h>

#include "bench/loader/load.h"
#include "harness/lib/sys/process.h"

struct process_pool {
    struct process process;
    int fd; /* the worker's socket; open while there is a process */
};

/*
 * The loaders of one worker, of any kind: processes, threads, or Python's.
 *
 *   rc = loader_pool_open(&loader_pool, &load, err);               before the device is opened
 *   rc = loader_pool_start(&loader_pool, LOAD_THREAD, 4, 8, &since_ns, err);
 *   ... rc = loader_pool_await(&loader_pool, &token, err); ...     batches of the queue
 *   rc = loader_pool_stop(&loader_pool, err);                      takes all batches out
 *   loader_pool_close(&loader_pool);
 */
struct loader_pool {
    const struct load *load;
    struct process_pool process_pool;
    enum load_mode mode;
    unsigned loaders; /* started; 0 = none */
    bool lost;        /* a loader, or the process that starts loaders */
    struct loader_pool_thread {
        const struct load *load;
        pthread_t handle;
        int rc;
    } threads[LOADERS_MOST];
};

int loader_pool_open(struct loader_pool *loader_pool, const struct load *load, struct err *err);

/*
 * Starts loaders; ask for batches before or after. *since_ns: when the wait for the first batch
 * begins; with PyTorch, after its import, when it gets its orders. `prefetch`: batches that PyTorch
 * keeps ready or in the making. -ENOTSUP if the system refuses to start loaders.
 */
int loader_pool_start(struct loader_pool *loader_pool, enum load_mode mode, unsigned loaders,
                      unsigned prefetch, uint64_t *since_ns, struct err *err);

/* Sleeps until a batch is ready. -EIO: a loader was lost. -ENOTSUP: a loader cannot work here. */
int loader_pool_await(struct loader_pool *loader_pool, struct token *token, struct err *err);

/* Call it also after an error. */
int loader_pool_stop(struct loader_pool *loader_pool, struct err *err);
void loader_pool_close(struct loader_pool *loader_pool);

#endif

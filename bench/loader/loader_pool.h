/*
 * The loaders of one worker, of any kind: processes, threads, or Python's.
 *
 *   rc = loader_pool_open(&loader_pool, &load, err);               before the device is opened
 *   rc = loader_pool_start(&loader_pool, LOAD_THREAD, 4, 8, &since_ns, err);
 *   ... rc = loader_pool_await(&loader_pool, &token, err); ...     batches of the queue
 *   rc = loader_pool_stop(&loader_pool, err);                      takes all batches out
 *   loader_pool_close(&loader_pool);
 */
#ifndef CONTEND_BENCH_LOADER_LOADER_POOL_H
#define CONTEND_BENCH_LOADER_LOADER_POOL_H

#include <pthread.h>

#include "bench/loader/process_pool.h"

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

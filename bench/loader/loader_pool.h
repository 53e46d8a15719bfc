/*
 * The loaders of one worker, whatever they are: processes, threads, or Python's.
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
    unsigned loaders; /* that are started; 0 = none */
    bool lost;        /* one of them, or their process */
    struct loader_pool_thread {
        const struct load *load;
        pthread_t handle;
        int rc;
    } threads[LOADERS_MOST];
};

int loader_pool_open(struct loader_pool *loader_pool, const struct load *load, struct err *err);

/*
 * Their batches have been asked for, or will be. *since_ns: when the wait for the first batch
 * begins; with PyTorch, when it knows how many, as the import comes before. `ahead`: batches that
 * PyTorch is to have made or in the making. -ENOTSUP where the system has no more loaders.
 */
int loader_pool_start(struct loader_pool *loader_pool, enum load_mode mode, unsigned loaders,
                      unsigned ahead, uint64_t *since_ns, struct err *err);

/* Sleeps until there is a batch. -EIO: a loader was lost. */
int loader_pool_await(struct loader_pool *loader_pool, struct token *token, struct err *err);

/* Also after an error. */
int loader_pool_stop(struct loader_pool *loader_pool, struct err *err);
void loader_pool_close(struct loader_pool *loader_pool);

#endif

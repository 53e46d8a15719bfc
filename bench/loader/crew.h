/*
 * The loaders of one worker, whatever they are: processes, threads, or Python's.
 *
 *   rc = crew_open(&crew, &load, err);               before the device is opened
 *   rc = crew_start(&crew, LOAD_THREAD, 4, 8, &since_ns, err);
 *   ... rc = crew_await(&crew, &token, err); ...     batches of the queue
 *   rc = crew_stop(&crew, err);                      takes all batches out
 *   crew_close(&crew);
 */
#ifndef CONTEND_BENCH_LOADER_CREW_H
#define CONTEND_BENCH_LOADER_CREW_H

#include <pthread.h>

#include "bench/loader/process_pool.h"

struct crew {
    const struct load *load;
    struct process_pool process_pool;
    enum load_mode mode;
    unsigned loaders; /* that are started; 0 = none */
    bool lost;        /* one of them, or their process */
    struct crew_thread {
        const struct load *load;
        pthread_t handle;
        int rc;
    } threads[LOADERS_MOST];
};

int crew_open(struct crew *crew, const struct load *load, struct err *err);

/*
 * What they have to make has been asked for, or will be. *since_ns: from when the first batch is
 * waited for; of PyTorch from when it knows how many, the import comes before. `ahead`: batches
 * that PyTorch is to have made or in the making. -ENOTSUP where the system has no more loaders.
 */
int crew_start(struct crew *crew, enum load_mode mode, unsigned loaders, unsigned ahead,
               uint64_t *since_ns, struct err *err);

/* Sleeps until there is a batch. -EIO: a loader was lost. */
int crew_await(struct crew *crew, struct token *token, struct err *err);

/* Also after an error. */
int crew_stop(struct crew *crew, struct err *err);
void crew_close(struct crew *crew);

#endif

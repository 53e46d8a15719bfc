/*
 * Loaders that are processes. They are started by a process of their own, forked before the worker
 * has a device or threads, as neither survives a fork: the worker orders, it starts and waits.
 *
 *   rc = nursery_open(&nursery, &load, err);       first of all
 *   rc = nursery_start(&nursery, LOAD_PROCESS, 4, &fresh, err);
 *   ... nursery_fd() is readable when one was lost, and nursery_lost() says how ...
 *   queue_end(...); rc = nursery_stop(&nursery, err);
 *   nursery_close(&nursery);                       ends all; fine for a zeroed struct
 *
 * All of them die with the worker. PyTorch's process stays until the nursery's end, as it takes
 * seconds to start: it is at rest between nursery_stop and the next start.
 */
#ifndef CONTEND_BENCH_LOADER_NURSERY_H
#define CONTEND_BENCH_LOADER_NURSERY_H

#include "bench/loader/load.h"
#include "harness/lib/sys/process.h"

struct nursery {
    struct process process;
    int fd; /* of the worker, a socket; open while there is a process */
};

int nursery_open(struct nursery *nursery, const struct load *load, struct err *err);

/*
 * Returns when they are started, not when they have begun. *fresh: the process of PyTorch is new.
 * -ENOTSUP where the system starts no more.
 */
int nursery_start(struct nursery *nursery, enum load_mode mode, unsigned loaders, bool *fresh,
                  struct err *err);

/* Behind queue_end: waits for all of them, kills who does not end. */
int nursery_stop(struct nursery *nursery, struct err *err);

int nursery_fd(const struct nursery *nursery);

/* Reads what became of a loader: -EIO, or -ENOTSUP where it found that it cannot work here. */
int nursery_lost(struct nursery *nursery, struct err *err);

void nursery_close(struct nursery *nursery);

#endif

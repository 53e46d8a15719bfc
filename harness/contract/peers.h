/*
 * The workers of one role as a team: who am I among how many, and how do we agree?
 *
 * Calls are collective: every rank makes the same calls in the same order, and each returns only
 * when all ranks have come. Waiting sleeps after a few microseconds. A rank that dies does not
 * answer: the harness then ends the others, so no call needs a time-out.
 */
#ifndef CONTEND_CONTRACT_PEERS_H
#define CONTEND_CONTRACT_PEERS_H

#include <stddef.h>

#include "harness/lib/base/err.h"

enum { PEERS_BLOCK_MAX = 1 << 15 };

struct mpi_ops;

struct peers {
    unsigned rank, size; /* of all nodes together */
    int (*gather)(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err);
    void *impl;
    const struct mpi_ops *mpi; /* NULL unless started by mpirun or srun */
};

/*
 * all[r * bytes ..] becomes what rank r gave, in every rank. `bytes` is the same in all of them,
 * at most PEERS_BLOCK_MAX. -EIO when the way to other nodes is broken.
 */
int peers_gather(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err);

/* Returns when every rank has called it. */
int peers_barrier(struct peers *peers, struct err *err);

#endif

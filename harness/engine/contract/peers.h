/*
 * The workers of one role as a team: a worker's rank, the number of ranks, and how they exchange
 * data.
 *
 * Calls are collective: every rank makes the same calls in the same order, and each call returns
 * only when all ranks have made it. A waiting rank sleeps after a few microseconds. If a rank dies,
 * the harness ends the other ranks, so no call needs a time-out.
 */
#ifndef CONTEND_ENGINE_CONTRACT_PEERS_H
#define CONTEND_ENGINE_CONTRACT_PEERS_H

#include <stddef.h>

#include "harness/lib/err.h"

enum { PEERS_BLOCK_MAX = 1 << 15 };

struct mpi_ops;

struct peers {
    unsigned rank, size; /* over all nodes */
    int (*gather)(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err);
    void *impl;
    const struct mpi_ops *mpi; /* NULL unless started by mpirun or srun */
};

/*
 * Copies `mine` of rank r to all[r * bytes], in every rank. All ranks pass the same `bytes`, at
 * most PEERS_BLOCK_MAX (else -EINVAL). -EIO: the connection to other nodes is broken.
 */
int peers_gather(struct peers *peers, const void *mine, void *all, size_t bytes, struct err *err);

/* Returns when every rank has called it. */
int peers_barrier(struct peers *peers, struct err *err);

#endif

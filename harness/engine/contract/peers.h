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

#include <stdbool.h>
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

/*
 * What the program calls of MPI: a table that contend_mpi.so exports.
 *
 * Only that module is linked with MPI (bench/collective/contend_mpi.c). The program loads it when
 * mpirun or srun started the program, and runs without MPI otherwise. Hence plain C types, and an
 * ABI number that the program compares first. Order: start; any number of calls; end or abort. Only
 * the main thread calls these functions, except `collective`: it has a communicator of its own and
 * may run in another thread if `threads` is true.
 *
 * MPI may end the process in any call: Open MPI does, by _exit, when the connection to another rank
 * breaks.
 */

#define MPI_OPS_SYMBOL "contend_mpi_ops"

enum { MPI_OPS_ABI = 5 };

struct collective_call;

struct mpi_ops_world {
    unsigned rank, size;
    bool threads;     /* MPI_THREAD_MULTIPLE is provided */
    char library[80]; /* such as "Open MPI v4.1.4" */
};

struct mpi_ops {
    unsigned abi; /* MPI_OPS_ABI of the module's build */
    int (*start)(struct mpi_ops_world *world, struct err *err);
    void (*end)(void);       /* waits for all ranks */
    void (*abort)(int code); /* ends all ranks; returns only if MPI itself fails */

    /*
     * Rank r's `mine` becomes all[r * bytes] at rank 0 or, with `spread`, in all ranks; one gather
     * at a time. Never waits: gather_test sets *done when `all` is filled, and until then *awaited
     * to a rank whose data are missing, at rank 0; other ranks await rank 0.
     */
    int (*gather_begin)(const void *mine, size_t bytes, void *all, bool spread, struct err *err);
    int (*gather_test)(bool *done, unsigned *awaited, struct err *err);

    /* One collective over all ranks; `send` and `recv` as bench/collective/collective_mpi.c has
     * them. */
    int (*collective)(const struct collective_call *call, const void *send, void *recv,
                      struct err *err);
};

#endif

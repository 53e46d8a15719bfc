/*
 * The interface between the program and MPI: a table of functions that contend_mpi.so exports.
 *
 * Only that module is linked with MPI (harness/ranks/mpi/contend_mpi.c). The program loads it when
 * mpirun or srun started the program, and runs without MPI otherwise. Hence plain C types, and an
 * ABI number that the program compares first. Order: start; any number of calls; end or abort. Only
 * the main thread calls these functions, except `collective`: it has a communicator of its own and
 * may run in another thread if `threads` is true.
 *
 * Errors: a negative errno, with one line in msg[size].
 */
#ifndef CONTEND_CONTRACT_MPI_OPS_H
#define CONTEND_CONTRACT_MPI_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MPI_OPS_SYMBOL "contend_mpi_ops"

enum { MPI_OPS_ABI = 4 };

enum mpi_ops_call {
    MPI_OPS_ALLREDUCE,
    MPI_OPS_ALLGATHER,
    MPI_OPS_REDUCESCATTER,
    MPI_OPS_BROADCAST,
    MPI_OPS_REDUCE,
    MPI_OPS_ALLTOALL,
    MPI_OPS_SENDRECV, /* around a ring: to rank + 1, from rank - 1 */
    MPI_OPS_GATHER,
    MPI_OPS_SCATTER,
    MPI_OPS_BARRIER,
    MPI_OPS_CALLS
};

enum mpi_ops_type {
    MPI_OPS_INT8,
    MPI_OPS_INT32,
    MPI_OPS_INT64,
    MPI_OPS_FLOAT,
    MPI_OPS_DOUBLE,
    MPI_OPS_UINT8,
    MPI_OPS_UINT32,
    MPI_OPS_UINT64,
    MPI_OPS_TYPES
};

enum mpi_ops_redop { MPI_OPS_SUM, MPI_OPS_PROD, MPI_OPS_MIN, MPI_OPS_MAX, MPI_OPS_REDOPS };

struct mpi_ops_world {
    unsigned rank, size;
    bool threads;     /* MPI_THREAD_MULTIPLE is provided */
    char library[80]; /* such as "Open MPI v4.1.4" */
};

/* A message in flight; zeroed = none. Only the module uses the content. */
struct mpi_ops_request {
    uint64_t handle;
    bool active;
};

/*
 * One collective over all ranks. If the operation has parts, `count` is the size of one rank's
 * part. In place means MPI_IN_PLACE: the buffer is `recv`, and `send` is ignored. In an all-gather
 * each rank's part lies at its offset in recv; the result of a reduce-scatter lies at the start of
 * recv. In gather and scatter the root's own part stays at its offset in recv; that of another rank
 * lies at the start. A broadcast is always in place: it reads and writes recv.
 */
struct mpi_ops_collective {
    enum mpi_ops_call call;
    enum mpi_ops_type type;
    enum mpi_ops_redop redop;
    bool in_place;
    unsigned root;
    size_t count; /* at most INT_MAX */
    const void *send;
    void *recv;
};

struct mpi_ops {
    unsigned abi; /* MPI_OPS_ABI of the module's build */
    int (*start)(struct mpi_ops_world *world, char *msg, size_t size);
    void (*end)(void);       /* waits for all ranks */
    void (*abort)(int code); /* ends all ranks; returns only if MPI itself fails */

    /* Small messages between the ranks' main threads. `data` must stay valid until test is done. */
    int (*send)(unsigned to, const void *data, size_t bytes, struct mpi_ops_request *request,
                char *msg, size_t size);
    int (*receive)(unsigned from, void *data, size_t bytes, struct mpi_ops_request *request,
                   char *msg, size_t size);
    int (*test)(struct mpi_ops_request *request, bool *done, char *msg, size_t size);

    int (*collective)(const struct mpi_ops_collective *what, char *msg, size_t size);
};

#endif

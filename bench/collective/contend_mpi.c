/*
 * The module contend_mpi.so: implements harness/engine/contract/peers.h with the MPI it was built
 * with. The only file that includes mpi.h, and the only part that is linked with MPI.
 *
 * Source: MPI: A Message-Passing Interface Standard, version 3.1, chapters 3, 5, 8 and 12.4.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/contract/peers.h"
#include "kernels/collective/collective_call.h"

enum { GATHER_TAG = 1, RING_TAG = 2 };

/* Two communicators: a collective in one thread must not meet messages of another. */
static MPI_Comm control = MPI_COMM_NULL, data = MPI_COMM_NULL;
static int rank, ranks;

static int report(int code, const char *what, struct err *err)
{
    if (code == MPI_SUCCESS)
        return 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(code, text, &length);
    return err_set(err, -EIO, "%s: %.150s", what, text);
}

/* ---- start and end ---- */

static int own_communicator(MPI_Comm *comm)
{
    int code = MPI_Comm_dup(MPI_COMM_WORLD, comm);
    return code == MPI_SUCCESS ? MPI_Comm_set_errhandler(*comm, MPI_ERRORS_RETURN) : code;
}

static void read_library(struct mpi_ops_world *world)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    (void)MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    for (char *at = text; (at = strchr(at, '\t'));) /* MPICH */
        *at = ' ';
    (void)snprintf(world->library, sizeof(world->library), "%.79s", text);
}

static int mpi_start(struct mpi_ops_world *world, struct err *err)
{
    int provided = MPI_THREAD_SINGLE;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = own_communicator(&control);
    if (code == MPI_SUCCESS)
        code = own_communicator(&data);
    if (code != MPI_SUCCESS)
        return report(code, "MPI cannot start", err);
    (void)MPI_Comm_rank(data, &rank);
    (void)MPI_Comm_size(data, &ranks);
    world->rank = (unsigned)rank;
    world->size = (unsigned)ranks;
    world->threads = provided >= MPI_THREAD_MULTIPLE;
    read_library(world);
    return 0;
}

static void mpi_end(void)
{
    (void)MPI_Comm_free(&data);
    (void)MPI_Comm_free(&control);
    (void)MPI_Finalize();
}

static void mpi_abort(int code)
{
    (void)MPI_Abort(MPI_COMM_WORLD, code);
}

/* ---- gather ---- */

/* Owns its buffers: after a rank is lost, MPI may still write to them. */
static struct {
    MPI_Request *request; /* at rank 0 one for each rank, else two */
    unsigned char *mine, *all;
    void *into;
    size_t bytes; /* of `all`, 0 = it is not for this rank */
    bool answers; /* rank 0 has yet to send `all` */
} gather;

static int too_large(size_t count, struct err *err)
{
    return err_set(err, -ENOTSUP, "%zu elements are more than MPI takes in one call (%d)", count,
                   INT_MAX);
}

static int allocate(size_t bytes, size_t all_bytes)
{
    const int n = ranks > 2 ? ranks : 2;
    free(gather.request);
    free(gather.mine);
    free(gather.all);
    gather.request = malloc((size_t)n * sizeof(MPI_Request));
    gather.mine = malloc(bytes + 1);
    gather.all = malloc(all_bytes + 1);
    gather.bytes = all_bytes;
    if (!gather.request || !gather.mine || !gather.all)
        return -ENOMEM;
    for (int i = 0; i < n; i++)
        gather.request[i] = MPI_REQUEST_NULL;
    return 0;
}

static int mpi_gather_begin(const void *mine, size_t bytes, void *all, bool spread, struct err *err)
{
    const size_t all_bytes = !rank || spread ? bytes * (size_t)ranks : 0;
    const size_t most = spread ? all_bytes : bytes;
    int code = MPI_SUCCESS;
    if (most > INT_MAX)
        return too_large(most, err);
    if (allocate(bytes, all_bytes))
        return err_set(err, -ENOMEM, "no memory for the messages of %d ranks", ranks);
    gather.into = all;
    gather.answers = !rank && spread;
    memcpy(rank ? gather.mine : gather.all, mine, bytes);
    for (int r = 1; !rank && r < ranks && code == MPI_SUCCESS; r++)
        code = MPI_Irecv(gather.all + (size_t)r * bytes, (int)bytes, MPI_BYTE, r, GATHER_TAG,
                         control, &gather.request[r]);
    if (rank)
        code = MPI_Isend(gather.mine, (int)bytes, MPI_BYTE, 0, GATHER_TAG, control,
                         &gather.request[0]);
    if (rank && spread && code == MPI_SUCCESS)
        code = MPI_Irecv(gather.all, (int)all_bytes, MPI_BYTE, 0, GATHER_TAG, control,
                         &gather.request[1]);
    return report(code, "a message cannot be sent", err);
}

static int test_requests(bool *done, unsigned *awaited)
{
    const int n = rank ? 2 : ranks;
    int code = MPI_SUCCESS;
    *done = true;
    *awaited = 0;
    for (int i = 0; i < n && code == MPI_SUCCESS; i++) {
        int flag = 0;
        code = MPI_Test(&gather.request[i], &flag, MPI_STATUS_IGNORE);
        if (flag && code == MPI_SUCCESS)
            continue;
        if (!rank && (*done || code != MPI_SUCCESS))
            *awaited = (unsigned)i;
        *done = false;
    }
    return code;
}

static int mpi_gather_test(bool *done, unsigned *awaited, struct err *err)
{
    int code = test_requests(done, awaited);
    if (code == MPI_SUCCESS && *done && gather.answers) {
        gather.answers = false;
        for (int r = 1; r < ranks && code == MPI_SUCCESS; r++)
            code = MPI_Isend(gather.all, (int)gather.bytes, MPI_BYTE, r, GATHER_TAG, control,
                             &gather.request[r]);
        if (code == MPI_SUCCESS)
            code = test_requests(done, awaited);
    }
    if (code == MPI_SUCCESS && *done && gather.bytes)
        memcpy(gather.into, gather.all, gather.bytes);
    return report(code, "a message is lost", err);
}

/* ---- collectives ---- */

static int run_ring(const void *send, void *recv, int count, MPI_Datatype type)
{
    int next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;
    return MPI_Sendrecv(send, count, type, next, RING_TAG, recv, count, type, last, RING_TAG, data,
                        MPI_STATUS_IGNORE);
}

/* In place, the root of a rooted operation says so, and other ranks name the buffer. */
static int run_rooted(const struct collective_call *call, const void *send, void *recv,
                      MPI_Datatype type, MPI_Op redop)
{
    const int count = (int)call->count, root = (int)call->root;
    const bool says_so = call->in_place && rank == root;
    const void *from = call->in_place ? recv : send;
    if (call->op == COLLECTIVE_SCATTER)
        return MPI_Scatter(from, count, type, says_so ? MPI_IN_PLACE : recv, count, type, root,
                           data);
    from = says_so ? MPI_IN_PLACE : from;
    if (call->op == COLLECTIVE_GATHER)
        return MPI_Gather(from, count, type, recv, count, type, root, data);
    return MPI_Reduce(from, recv, count, type, redop, root, data);
}

static int run(const struct collective_call *call, const void *send, void *recv, MPI_Datatype type,
               MPI_Op redop)
{
    const int count = (int)call->count;
    const void *from = call->in_place ? MPI_IN_PLACE : send;
    switch (call->op) {
    case COLLECTIVE_ALLREDUCE:
        return MPI_Allreduce(from, recv, count, type, redop, data);
    case COLLECTIVE_ALLGATHER:
        return MPI_Allgather(from, count, type, recv, count, type, data);
    case COLLECTIVE_REDUCESCATTER:
        return MPI_Reduce_scatter_block(from, recv, count, type, redop, data);
    case COLLECTIVE_BROADCAST:
        return MPI_Bcast(recv, count, type, (int)call->root, data);
    case COLLECTIVE_ALLTOALL:
        return MPI_Alltoall(from, count, type, recv, count, type, data);
    case COLLECTIVE_SENDRECV:
        return run_ring(send, recv, count, type);
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
        return run_rooted(call, send, recv, type, redop);
    case COLLECTIVE_OPS:
        break;
    }
    return MPI_ERR_OP;
}

/* The engine has refused types and reductions that MPI does not have (collective_mpi.c). */
static int mpi_collective(const struct collective_call *call, const void *send, void *recv,
                          struct err *err)
{
    const MPI_Datatype types[COLLECTIVE_TYPES] = {
        [COLLECTIVE_INT8] = MPI_INT8_T,     [COLLECTIVE_INT32] = MPI_INT32_T,
        [COLLECTIVE_INT64] = MPI_INT64_T,   [COLLECTIVE_FLOAT] = MPI_FLOAT,
        [COLLECTIVE_DOUBLE] = MPI_DOUBLE,   [COLLECTIVE_UINT8] = MPI_UINT8_T,
        [COLLECTIVE_UINT32] = MPI_UINT32_T, [COLLECTIVE_UINT64] = MPI_UINT64_T};
    const MPI_Op redops[COLLECTIVE_REDOPS] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    if (call->count > INT_MAX)
        return too_large(call->count, err);
    return report(run(call, send, recv, types[call->type], redops[call->redop]),
                  "a collective failed", err);
}

extern const struct mpi_ops contend_mpi_ops;

const struct mpi_ops contend_mpi_ops = {
    .abi = MPI_OPS_ABI,
    .start = mpi_start,
    .end = mpi_end,
    .abort = mpi_abort,
    .gather_begin = mpi_gather_begin,
    .gather_test = mpi_gather_test,
    .collective = mpi_collective,
};

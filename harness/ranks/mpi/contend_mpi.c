/*
 * The module contend_mpi.so: implements harness/contract/mpi_ops.h with the MPI it was built with.
 * The only file that includes mpi.h, and the only part that is linked with MPI.
 *
 * Source: MPI: A Message-Passing Interface Standard, version 3.1, chapters 3, 5, 8 and 12.4.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "harness/contract/mpi_ops.h"

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t), "a request must fit mpi_ops_request");

enum { CONTROL_TAG = 1, RING_TAG = 2 };

/* Two communicators: a collective in one thread must not meet messages of another. */
static MPI_Comm control = MPI_COMM_NULL, data = MPI_COMM_NULL;
static int data_rank, data_size;

static int report(int code, const char *what, char *msg, size_t size)
{
    if (code == MPI_SUCCESS)
        return 0;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    (void)MPI_Error_string(code, text, &length);
    (void)snprintf(msg, size, "%s: %.150s", what, text);
    return -EIO;
}

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

static int mpi_start(struct mpi_ops_world *world, char *msg, size_t size)
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
        return report(code, "MPI cannot start", msg, size);
    (void)MPI_Comm_rank(data, &data_rank);
    (void)MPI_Comm_size(data, &data_size);
    world->rank = (unsigned)data_rank;
    world->size = (unsigned)data_size;
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

static int too_large(size_t count, char *msg, size_t size)
{
    (void)snprintf(msg, size, "%zu elements are more than MPI takes in one call (%d)", count,
                   INT_MAX);
    return -ENOTSUP;
}

/* MPI's handle, an int or a pointer, is stored in ours. */
static MPI_Request *handle_of(struct mpi_ops_request *request)
{
    return (MPI_Request *)(void *)&request->handle;
}

static int mpi_send(unsigned to, const void *from, size_t bytes, struct mpi_ops_request *request,
                    char *msg, size_t size)
{
    if (bytes > INT_MAX)
        return too_large(bytes, msg, size);
    int code =
        MPI_Isend(from, (int)bytes, MPI_BYTE, (int)to, CONTROL_TAG, control, handle_of(request));
    request->active = code == MPI_SUCCESS;
    /* mpi_test waits for it. NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker) */
    return report(code, "a message cannot be sent", msg, size);
}

static int mpi_receive(unsigned from, void *into, size_t bytes, struct mpi_ops_request *request,
                       char *msg, size_t size)
{
    if (bytes > INT_MAX)
        return too_large(bytes, msg, size);
    int code =
        MPI_Irecv(into, (int)bytes, MPI_BYTE, (int)from, CONTROL_TAG, control, handle_of(request));
    request->active = code == MPI_SUCCESS;
    /* mpi_test waits for it. NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker) */
    return report(code, "a message cannot be received", msg, size);
}

static int mpi_test(struct mpi_ops_request *request, bool *done, char *msg, size_t size)
{
    int flag = 0;
    *done = !request->active;
    if (*done)
        return 0;
    int code = MPI_Test(handle_of(request), &flag, MPI_STATUS_IGNORE);
    request->active = code == MPI_SUCCESS && !flag;
    *done = flag != 0;
    return report(code, "a message is lost", msg, size);
}

static int run_ring(const struct mpi_ops_collective *what, int count, MPI_Datatype type)
{
    int next = (data_rank + 1) % data_size, last = (data_rank + data_size - 1) % data_size;
    return MPI_Sendrecv(what->send, count, type, next, RING_TAG, what->recv, count, type, last,
                        RING_TAG, data, MPI_STATUS_IGNORE);
}

static int run_reduce(const struct mpi_ops_collective *what, int count, MPI_Datatype type,
                      MPI_Op redop)
{
    bool root = data_rank == (int)what->root;
    const void *send = what->in_place ? what->recv : what->send;
    return MPI_Reduce(what->in_place && root ? MPI_IN_PLACE : send, what->recv, count, type, redop,
                      (int)what->root, data);
}

static int run_gather(const struct mpi_ops_collective *what, int count, MPI_Datatype type)
{
    bool root = data_rank == (int)what->root;
    const void *send = what->in_place ? what->recv : what->send;
    return MPI_Gather(what->in_place && root ? MPI_IN_PLACE : send, count, type, what->recv, count,
                      type, (int)what->root, data);
}

static int run_scatter(const struct mpi_ops_collective *what, int count, MPI_Datatype type)
{
    bool root = data_rank == (int)what->root;
    const void *send = what->in_place ? what->recv : what->send;
    return MPI_Scatter(send, count, type, what->in_place && root ? MPI_IN_PLACE : what->recv, count,
                       type, (int)what->root, data);
}

static int run_collective(const struct mpi_ops_collective *what, int count, MPI_Datatype type,
                          MPI_Op redop)
{
    const void *send = what->in_place ? MPI_IN_PLACE : what->send;
    switch (what->call) {
    case MPI_OPS_ALLREDUCE:
        return MPI_Allreduce(send, what->recv, count, type, redop, data);
    case MPI_OPS_ALLGATHER:
        return MPI_Allgather(send, count, type, what->recv, count, type, data);
    case MPI_OPS_REDUCESCATTER:
        return MPI_Reduce_scatter_block(send, what->recv, count, type, redop, data);
    case MPI_OPS_BROADCAST:
        return MPI_Bcast(what->recv, count, type, (int)what->root, data);
    case MPI_OPS_REDUCE:
        return run_reduce(what, count, type, redop);
    case MPI_OPS_ALLTOALL:
        return MPI_Alltoall(send, count, type, what->recv, count, type, data);
    case MPI_OPS_SENDRECV:
        return run_ring(what, count, type);
    case MPI_OPS_GATHER:
        return run_gather(what, count, type);
    case MPI_OPS_SCATTER:
        return run_scatter(what, count, type);
    case MPI_OPS_BARRIER:
        return MPI_Barrier(data);
    case MPI_OPS_CALLS:
        break;
    }
    return MPI_ERR_OP;
}

static int mpi_collective(const struct mpi_ops_collective *what, char *msg, size_t size)
{
    const MPI_Datatype types[MPI_OPS_TYPES] = {MPI_INT8_T, MPI_INT32_T, MPI_INT64_T,  MPI_FLOAT,
                                               MPI_DOUBLE, MPI_UINT8_T, MPI_UINT32_T, MPI_UINT64_T};
    const MPI_Op redops[MPI_OPS_REDOPS] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
    if (what->count > INT_MAX)
        return too_large(what->count, msg, size);
    int code = run_collective(what, (int)what->count, types[what->type], redops[what->redop]);
    return code == MPI_SUCCESS ? 0 : report(code, "a collective failed", msg, size);
}

extern const struct mpi_ops contend_mpi_ops;

const struct mpi_ops contend_mpi_ops = {
    .abi = MPI_OPS_ABI,
    .start = mpi_start,
    .end = mpi_end,
    .abort = mpi_abort,
    .send = mpi_send,
    .receive = mpi_receive,
    .test = mpi_test,
    .collective = mpi_collective,
};

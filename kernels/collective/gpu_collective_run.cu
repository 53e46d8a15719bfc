#include "kernels/collective/gpu_collective_impl.cuh"

#include <cerrno>
#include <cstring>

static const int nccl_types[COLLECTIVE_TYPES] = {
    NCCL_INT8,   NCCL_INT32, NCCL_INT64,  NCCL_HALF,   NCCL_BFLOAT16, NCCL_FLOAT,
    NCCL_DOUBLE, NCCL_UINT8, NCCL_UINT32, NCCL_UINT64, NCCL_F8E4M3,   NCCL_F8E5M2,
};

static const int nccl_redops[COLLECTIVE_REDOPS] = {NCCL_SUM, NCCL_PROD, NCCL_MIN, NCCL_MAX,
                                                   NCCL_AVG};

static const char capturing[] = "cannot capture a graph";

/* The data of rank first + k at `offset` bytes in the buffers. */
struct place {
    char *send, *recv;
    char *all; /* gather and scatter: the parts of all ranks */
};

static struct place place_of(const struct gpu_collective *gc, unsigned k, size_t offset)
{
    const struct gpu_collective_rank *rank = &gc->rank[k];
    bool all_sent = gc->call.op == COLLECTIVE_SCATTER && !gc->call.in_place;
    struct place place = {rank->send + offset, rank->recv + offset,
                          (all_sent ? rank->send : rank->recv) + offset};
    if (gc->call.in_place) {
        place.send = place.recv + gc->send_at * (gc->first + k);
        place.recv = place.recv + gc->recv_at * (gc->first + k);
    }
    return place;
}

/* Each rank sends one part to every rank, itself included; NCCL runs the group as one kernel. */
static int issue_all_to_all(const struct gpu_collective *gc, const struct gpu_collective_rank *rank,
                            struct place at)
{
    const struct nccl_api *nccl = gc->nccl;
    size_t count = gc->call.count, bytes = gc->call.bytes / gc->ranks;
    int error = nccl->group_start();
    for (unsigned peer = 0; peer < gc->ranks && !error; peer++) {
        error = nccl->send(at.send + peer * bytes, count, gc->type, (int)peer, rank->comm,
                           rank->stream);
        if (!error)
            error = nccl->recv(at.recv + peer * bytes, count, gc->type, (int)peer, rank->comm,
                               rank->stream);
    }
    int ended = nccl->group_end();
    return error ? error : ended;
}

static int issue_ring(const struct gpu_collective *gc, unsigned k, struct place at)
{
    const struct nccl_api *nccl = gc->nccl;
    const struct gpu_collective_rank *rank = &gc->rank[k];
    unsigned me = gc->first + k;
    int next = (int)((me + 1) % gc->ranks), last = (int)((me + gc->ranks - 1) % gc->ranks);
    int error = nccl->group_start();
    if (!error)
        error = nccl->send(at.send, gc->call.count, gc->type, next, rank->comm, rank->stream);
    if (!error)
        error = nccl->recv(at.recv, gc->call.count, gc->type, last, rank->comm, rank->stream);
    int ended = nccl->group_end();
    return error ? error : ended;
}

/* Gather and scatter by sends and receives, as in nccl-tests: NCCL has its own only since 2.28. */
static int issue_rooted(const struct gpu_collective *gc, unsigned k, struct place at)
{
    const struct nccl_api *nccl = gc->nccl;
    const struct gpu_collective_rank *rank = &gc->rank[k];
    bool is_gather = gc->call.op == COLLECTIVE_GATHER;
    size_t count = gc->call.count, bytes = gc->call.bytes / gc->ranks;
    unsigned peers = gc->first + k == gc->call.root ? gc->ranks : 0;
    int root = (int)gc->call.root;
    int error = nccl->group_start();
    if (!error)
        error = is_gather ? nccl->send(at.send, count, gc->type, root, rank->comm, rank->stream)
                          : nccl->recv(at.recv, count, gc->type, root, rank->comm, rank->stream);
    for (unsigned peer = 0; peer < peers && !error; peer++)
        error = is_gather ? nccl->recv(at.all + peer * bytes, count, gc->type, (int)peer,
                                       rank->comm, rank->stream)
                          : nccl->send(at.all + peer * bytes, count, gc->type, (int)peer,
                                       rank->comm, rank->stream);
    int ended = nccl->group_end();
    return error ? error : ended;
}

static int issue(const struct gpu_collective *gc, unsigned k, size_t offset)
{
    const struct nccl_api *nccl = gc->nccl;
    const struct gpu_collective_rank *rank = &gc->rank[k];
    struct place at = place_of(gc, k, offset);
    size_t count = gc->call.count;
    int root = (int)gc->call.root, type = gc->type, redop = nccl_redops[gc->call.redop];
    switch (gc->call.op) {
    case COLLECTIVE_ALLREDUCE:
        return nccl->all_reduce(at.send, at.recv, count, type, redop, rank->comm, rank->stream);
    case COLLECTIVE_ALLGATHER:
        return nccl->all_gather(at.send, at.recv, count, type, rank->comm, rank->stream);
    case COLLECTIVE_REDUCESCATTER:
        return nccl->reduce_scatter(at.send, at.recv, count, type, redop, rank->comm, rank->stream);
    case COLLECTIVE_BROADCAST:
        return nccl->broadcast(at.send, at.recv, count, type, root, rank->comm, rank->stream);
    case COLLECTIVE_REDUCE:
        return nccl->reduce(at.send, at.recv, count, type, redop, root, rank->comm, rank->stream);
    case COLLECTIVE_ALLTOALL:
        return issue_all_to_all(gc, rank, at);
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
        return issue_rooted(gc, k, at);
    default: /* sendrecv */
        return issue_ring(gc, k, at);
    }
}

/* Operation i of an enqueue, on all ranks here. Ends a started group also after an error. */
static int issue_all(struct gpu_collective *gc, uint64_t i, struct err *err)
{
    const char *what = "cannot start an operation";
    size_t offset = gc->call.bytes * (i % gc->steps);
    if (gc->local == 1)
        return gpu_collective_nccl(gc, 0, issue(gc, 0, offset), what, err);
    int rc = gpu_collective_nccl(gc, gc->local, gc->nccl->group_start(), what, err);
    if (rc)
        return rc;
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = gpu_collective_nccl(gc, k, issue(gc, k, offset), what, err);
    int ended = gc->nccl->group_end();
    return rc ? rc : gpu_collective_nccl(gc, gc->local, ended, what, err);
}

static int issue_many(struct gpu_collective *gc, uint64_t iters, struct err *err)
{
    int rc = 0;
    for (uint64_t i = 0; i < iters && !rc; i++)
        rc = issue_all(gc, i, err);
    return rc;
}

/* *begun: how many streams capture, also after an error. */
static int begin_captures(struct gpu_collective *gc, unsigned *begun, struct err *err)
{
    int rc = 0;
    for (*begun = 0; *begun < gc->local && !rc; *begun += !rc) {
        struct gpu_collective_rank *rank = &gc->rank[*begun];
        cudaError_t error = cudaSetDevice(rank->cuda_ordinal);
        /* ThreadLocal: during the capture NCCL may allocate in its own threads. */
        if (error == cudaSuccess)
            error = cudaStreamBeginCapture(rank->stream, cudaStreamCaptureModeThreadLocal);
        rc = gpu_collective_cuda(gc, *begun, error, capturing, err);
    }
    return rc;
}

/*
 * Ends all captures before it makes the first graph: a thread that captures must not instantiate
 * one. If rc is an error, only ends the captures and keeps the message.
 */
static int end_captures(struct gpu_collective *gc, unsigned which, unsigned begun, int rc,
                        struct err *err)
{
    for (unsigned k = 0; k < begun; k++) {
        cudaError_t error = cudaStreamEndCapture(gc->rank[k].stream, &gc->rank[k].captured);
        if (!rc)
            rc = gpu_collective_cuda(gc, k, error, capturing, err);
    }
    for (unsigned k = 0; k < begun && !rc; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        cudaError_t error = cudaSetDevice(rank->cuda_ordinal);
        if (error == cudaSuccess)
            error = cudaGraphInstantiateWithFlags(&rank->graph[which], rank->captured, 0);
        rc = gpu_collective_cuda(gc, k, error, capturing, err);
    }
    for (unsigned k = 0; k < begun; k++) {
        if (gc->rank[k].captured)
            (void)cudaGraphDestroy(gc->rank[k].captured);
        gc->rank[k].captured = NULL;
    }
    return rc;
}

static int capture(struct gpu_collective *gc, unsigned which, struct err *err)
{
    unsigned begun;
    int rc = begin_captures(gc, &begun, err);
    if (!rc)
        rc = issue_many(gc, which == GRAPH_BATCH ? gc->batch : 1, err);
    return end_captures(gc, which, begun, rc, err);
}

static int launch_all(struct gpu_collective *gc, unsigned which, struct err *err)
{
    int rc = 0;
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = gpu_collective_cuda(gc, k,
                                 cudaGraphLaunch(gc->rank[k].graph[which], gc->rank[k].stream),
                                 "cannot launch a graph", err);
    return rc;
}

/* How many places in the buffers `operations` operations use. */
static unsigned places_of(const struct gpu_collective *gc, unsigned operations)
{
    return operations < gc->steps ? operations : (unsigned)gc->steps;
}

/* NCCL reduces fp8 only on Hopper and later. */
static int check_hardware(const struct gpu_collective *gc, struct err *err)
{
    char name[GPU_COLLECTIVE_NAME];
    for (unsigned k = 0; k < gc->local; k++) {
        int major = 0;
        cudaError_t error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                                   gc->rank[k].cuda_ordinal);
        if (error == cudaSuccess && major >= 9)
            continue;
        gpu_collective_name(gc, k, name, sizeof(name));
        return err_set(err, -ENOTSUP, "rank %u, %s: reductions of fp8 need compute capability 9.0",
                       gc->first + k, name);
    }
    return 0;
}

static int check_support(const struct gpu_collective *gc, const struct collective_call *call,
                         struct err *err)
{
    bool is_reduced = collective_is_reduced(call->op);
    bool is_fp8 = call->type == COLLECTIVE_F8E4M3 || call->type == COLLECTIVE_F8E5M2;
    if (call->type == COLLECTIVE_BFLOAT16 && gc->nccl->version < NCCL_VERSION_BFLOAT16)
        (void)err_set(err, -ENOTSUP, "type bfloat16 needs NCCL 2.10 or later");
    else if (is_reduced && call->redop == COLLECTIVE_AVG && gc->nccl->version < NCCL_VERSION_AVG)
        (void)err_set(err, -ENOTSUP, "redop avg needs NCCL 2.10 or later");
    else if (is_fp8 && gc->nccl->version < NCCL_VERSION_FP8)
        (void)err_set(err, -ENOTSUP, "types of fp8 need NCCL 2.24 or later");
    else
        return is_fp8 && is_reduced ? check_hardware(gc, err) : 0;
    return -ENOTSUP;
}

int gpu_collective_prepare(struct gpu_collective *gc, const struct collective_call *call,
                           struct err *err)
{
    size_t part = call->count * collective_type_bytes(call->type);
    int rc = check_support(gc, call, err);
    if (rc)
        return rc;
    if (call->bytes == 0 || call->bytes > gc->bytes) {
        return err_set(err, -EINVAL, "%zu bytes do not fit into buffers of %zu", call->bytes,
                       gc->bytes);
    }
    gpu_collective_drop_graphs(gc);
    gc->call = *call;
    gc->type = nccl_types[call->type];
    gc->send_at = call->op == COLLECTIVE_ALLGATHER || call->op == COLLECTIVE_GATHER ? part : 0;
    gc->recv_at = call->op == COLLECTIVE_REDUCESCATTER || call->op == COLLECTIVE_SCATTER ? part : 0;
    gc->steps = gc->bytes / call->bytes;
    /* Each place once: sums in place would grow, and a lost operation would not be seen. */
    gc->batch = call->graph ? places_of(gc, BATCH_OPERATIONS) : 1;
    if (!call->graph)
        return 0;
    /* Run once before the capture: NCCL makes connections at first use, which no graph can hold. */
    rc = issue_many(gc, 1, err);
    if (!rc)
        rc = gpu_collective_wait(gc, err);
    for (unsigned which = 0; which < GRAPHS && !rc; which++)
        rc = capture(gc, which, err);
    return rc;
}

unsigned gpu_collective_batch(const struct gpu_collective *gc)
{
    return gc->batch;
}

/* Each queue begins again at the first place in the buffers. */
static int issue_queues(struct gpu_collective *gc, uint64_t iters, struct err *err)
{
    int rc = 0;
    for (uint64_t done = 0; done < iters && !rc; done += gc->call.queue) {
        uint64_t left = iters - done;
        rc = issue_many(gc, left < gc->call.queue ? left : gc->call.queue, err);
        if (!rc)
            rc = gpu_collective_wait(gc, err);
    }
    return rc;
}

int gpu_collective_enqueue(struct gpu_collective *gc, uint64_t iters, struct err *err)
{
    if (gc->call.queue)
        return issue_queues(gc, iters, err);
    if (!gc->call.graph)
        return issue_many(gc, iters, err);
    bool whole = gc->batch > 1 && iters % gc->batch == 0;
    uint64_t launches = whole ? iters / gc->batch : iters;
    int rc = 0;
    for (uint64_t i = 0; i < launches && !rc; i++)
        rc = launch_all(gc, whole ? GRAPH_BATCH : GRAPH_ONE, err);
    return rc;
}

int gpu_collective_issue(struct gpu_collective *gc, uint64_t i, struct err *err)
{
    return gc->call.graph ? launch_all(gc, GRAPH_ONE, err) : issue_all(gc, i, err);
}

/* If a rank has an asynchronous error, aborts all ranks here; the message names the first such. */
static int look_for_errors(struct gpu_collective *gc, struct err *err)
{
    for (unsigned k = 0; k < gc->local; k++) {
        int error = 0, asked = gc->nccl->comm_get_async_error(gc->rank[k].comm, &error);
        error = asked ? asked : error;
        if (error == 0 || error == NCCL_IN_PROGRESS)
            continue;
        int rc = gpu_collective_nccl(gc, k, error, "an operation failed", err);
        for (unsigned other = 0; other < gc->local; other++) {
            (void)gc->nccl->comm_abort(gc->rank[other].comm);
            gc->rank[other].comm = NULL;
        }
        return rc;
    }
    return 0;
}

int gpu_collective_wait(struct gpu_collective *gc, struct err *err)
{
    for (unsigned k = 0; k < gc->local; k++) {
        cudaError_t error;
        while ((error = cudaStreamQuery(gc->rank[k].stream)) == cudaErrorNotReady) {
            int rc = look_for_errors(gc, err);
            if (rc)
                return rc;
        }
        if (error != cudaSuccess)
            return gpu_collective_cuda(gc, k, error, "an operation failed", err);
    }
    return 0;
}

/* Each place has different data. */
static struct gpu_collective_side side_of(const struct gpu_collective *gc, unsigned k,
                                          unsigned repetition, unsigned place)
{
    struct gpu_collective_side side = {gc->call, gc->first + k, gc->ranks, repetition + place};
    return side;
}

static cudaError_t fill_rank(const struct gpu_collective *gc, unsigned k, unsigned repetition)
{
    const struct gpu_collective_rank *rank = &gc->rank[k];
    size_t n = collective_send_count(&gc->call, gc->ranks, gc->first + k);
    cudaError_t error = cudaSetDevice(rank->cuda_ordinal);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(rank->found, 0, sizeof(*rank->found), rank->stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(rank->send, 0xff, gc->batch * gc->call.bytes, rank->stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(rank->recv, 0xff, gc->batch * gc->call.bytes, rank->stream);
    /* After the poison: in place, the input overwrites part of it. */
    for (unsigned p = 0; p < gc->batch && error == cudaSuccess; p++) {
        struct gpu_collective_side side = side_of(gc, k, repetition, p);
        error = gpu_collective_put_sent(&side, place_of(gc, k, p * gc->call.bytes).send, n,
                                        rank->stream);
    }
    return error;
}

int gpu_collective_fill(struct gpu_collective *gc, unsigned repetition, struct err *err)
{
    int rc = 0;
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = gpu_collective_cuda(gc, k, fill_rank(gc, k, repetition), "inputs of the check", err);
    return rc;
}

static cudaError_t compare_rank(const struct gpu_collective *gc, unsigned k, unsigned operations,
                                unsigned repetition)
{
    const struct gpu_collective_rank *rank = &gc->rank[k];
    size_t n = collective_recv_count(&gc->call, gc->ranks, gc->first + k);
    cudaError_t error = cudaSetDevice(rank->cuda_ordinal);
    for (unsigned p = 0; p < places_of(gc, operations) && error == cudaSuccess; p++) {
        struct gpu_collective_side side = side_of(gc, k, repetition, p);
        error = gpu_collective_find_wrong(&side, place_of(gc, k, p * gc->call.bytes).recv, n,
                                          rank->found, rank->stream);
    }
    if (error == cudaSuccess)
        error = cudaMemcpyAsync(rank->found_copy, rank->found, sizeof(*rank->found_copy),
                                cudaMemcpyDeviceToHost, rank->stream);
    return error;
}

int gpu_collective_compare(struct gpu_collective *gc, unsigned operations, unsigned repetition,
                           struct gpu_collective_verdict *verdict, struct err *err)
{
    int rc = 0;
    memset(verdict, 0, sizeof(*verdict));
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = gpu_collective_cuda(gc, k, compare_rank(gc, k, operations, repetition),
                                 "comparison of the result", err);
    if (!rc)
        rc = gpu_collective_wait(gc, err);
    for (unsigned k = 0; k < gc->local && !rc; k++) {
        const struct gpu_collective_found *found = gc->rank[k].found_copy;
        if (!found->wrong)
            continue;
        verdict->wrong += found->wrong;
        verdict->rank = gc->first + k;
        gpu_collective_name(gc, k, verdict->gpu, sizeof(verdict->gpu));
        verdict->index = found->index;
        verdict->got = found->got;
        verdict->want = found->want;
    }
    return rc;
}

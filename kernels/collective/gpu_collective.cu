#include "kernels/collective/gpu_collective_impl.cuh"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/gpu/gpu_common.cuh"

int gpu_collective_cuda(struct gpu_collective *gc, cudaError_t error, const char *what, char *msg,
                        size_t size)
{
    if (error == cudaSuccess)
        return 0;
    gc->failed = true;
    return gpu_fail(error, what, msg, size);
}

int gpu_collective_nccl(struct gpu_collective *gc, int error, void *comm, const char *what,
                        char *msg, size_t size)
{
    if (error == 0)
        return 0;
    gc->failed = true;
    const char *more = gc->nccl->get_last_error ? gc->nccl->get_last_error(comm) : NULL;
    (void)snprintf(msg, size, "%s: NCCL says '%s'%s%.120s", what, gc->nccl->get_error_string(error),
                   more && more[0] ? ": " : "", more ? more : "");
    /* One line, whatever the library writes. */
    for (char *c = msg; *c; c++)
        if (*c == '\n')
            *c = ' ';
    return -EIO;
}

int gpu_collective_load(int *version, char *msg, size_t size)
{
    const struct nccl_api *nccl = nccl_api_load(msg, size);
    *version = nccl ? nccl->version : 0;
    return nccl ? 0 : -ENOTSUP;
}

static int open_events(struct gpu_collective *gc, struct gpu_collective_rank *rank, char *msg,
                       size_t size)
{
    cudaError_t error = cudaEventCreateWithFlags(&rank->followed, cudaEventDisableTiming);
    for (unsigned i = 0; i < gc->times_most && error == cudaSuccess; i++) {
        error = cudaEventCreate(&rank->begin[i]);
        if (error == cudaSuccess)
            error = cudaEventCreate(&rank->end[i]);
    }
    return gpu_collective_cuda(gc, error, "events", msg, size);
}

static int open_rank(struct gpu_collective *gc, struct gpu_collective_rank *rank,
                     const char *pci_bdf, char *msg, size_t size)
{
    char what[96];
    (void)snprintf(what, sizeof(what), "no GPU at PCI address '%.32s'", pci_bdf);
    int rc = gpu_collective_cuda(gc, cudaDeviceGetByPCIBusId(&rank->cuda_ordinal, pci_bdf), what,
                                 msg, size);
    if (rc)
        return rc == -EIO ? -ENODEV : rc;
    (void)snprintf(what, sizeof(what), "cannot use the GPU %.32s", pci_bdf);
    rc = gpu_collective_cuda(gc, cudaSetDevice(rank->cuda_ordinal), what, msg, size);
    if (!rc)
        rc = gpu_collective_cuda(
            gc, cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking), what, msg, size);
    if (!rc)
        rc = gpu_collective_cuda(gc, cudaMalloc(&rank->found, sizeof(*rank->found)), what, msg,
                                 size);
    if (!rc)
        rc = gpu_collective_cuda(
            gc, cudaHostAlloc(&rank->seen, sizeof(*rank->seen), cudaHostAllocPortable), what, msg,
            size);
    return rc ? rc : open_events(gc, rank, msg, size);
}

static struct gpu_collective *allocate_handle(const struct gpu_collective_config *config)
{
    struct gpu_collective *gc = (struct gpu_collective *)calloc(1, sizeof(*gc));
    if (!gc)
        return NULL;
    gc->ranks = config->ranks;
    gc->first = config->first;
    gc->times_most = config->times_most;
    gc->rank = (struct gpu_collective_rank *)calloc(config->local, sizeof(*gc->rank));
    gc->local = gc->rank ? config->local : 0;
    bool good = gc->rank != NULL;
    for (unsigned k = 0; k < gc->local; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        rank->begin = (cudaEvent_t *)calloc(config->times_most + 1, sizeof(*rank->begin));
        rank->end = (cudaEvent_t *)calloc(config->times_most + 1, sizeof(*rank->end));
        good = good && rank->begin && rank->end;
    }
    if (good)
        return gc;
    gpu_collective_close(gc);
    return NULL;
}

int gpu_collective_open(const struct gpu_collective_config *config, struct gpu_collective **gc,
                        char *msg, size_t size)
{
    *gc = NULL;
    const struct nccl_api *nccl = nccl_api_load(msg, size);
    if (!nccl)
        return -ENOTSUP;
    struct gpu_collective *opened = allocate_handle(config);
    if (!opened) {
        (void)snprintf(msg, size, "cannot allocate the state of %u ranks", config->local);
        return -ENOMEM;
    }
    opened->nccl = nccl;
    int rc = 0;
    for (unsigned k = 0; k < opened->local && !rc; k++)
        rc = open_rank(opened, &opened->rank[k], config->pci_bdf[k], msg, size);
    if (rc)
        gpu_collective_close(opened);
    else
        *gc = opened;
    return rc;
}

int gpu_collective_make_id(struct nccl_id *id, char *msg, size_t size)
{
    const struct nccl_api *nccl = nccl_api_load(msg, size);
    if (!nccl)
        return -ENOTSUP;
    struct gpu_collective gc = {};
    gc.nccl = nccl;
    return gpu_collective_nccl(&gc, nccl->get_unique_id(id), NULL, "cannot make an id", msg, size);
}

int gpu_collective_join(struct gpu_collective *gc, const struct nccl_id *id, char *msg, size_t size)
{
    const char *what = "cannot join the other ranks";
    int rc = 0;
    /* A group, or the first of several ranks of one process would wait for the second. */
    int error = gc->local > 1 ? gc->nccl->group_start() : 0;
    for (unsigned k = 0; k < gc->local && !rc && !error; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        rc = gpu_collective_cuda(gc, cudaSetDevice(rank->cuda_ordinal), what, msg, size);
        if (!rc)
            error =
                gc->nccl->comm_init_rank(&rank->comm, (int)gc->ranks, *id, (int)(gc->first + k));
    }
    if (gc->local > 1 && !error && !rc)
        error = gc->nccl->group_end();
    return rc ? rc : gpu_collective_nccl(gc, error, NULL, what, msg, size);
}

int gpu_collective_room(struct gpu_collective *gc, size_t *bytes, char *msg, size_t size)
{
    int rc = 0;
    *bytes = SIZE_MAX;
    for (unsigned k = 0; k < gc->local && !rc; k++) {
        size_t unused = 0, total = 0;
        rc = gpu_collective_cuda(gc, cudaSetDevice(gc->rank[k].cuda_ordinal), "GPU", msg, size);
        if (!rc)
            rc = gpu_collective_cuda(gc, cudaMemGetInfo(&unused, &total), "GPU memory", msg, size);
        /* Two buffers, and a tenth for what NCCL allocates at first use. */
        size_t room = unused / 20 * 9 >> 20 << 20;
        *bytes = room < *bytes ? room : *bytes;
    }
    return rc;
}

int gpu_collective_allocate(struct gpu_collective *gc, size_t bytes, char *msg, size_t size)
{
    char what[96];
    int rc = 0;
    gc->bytes = bytes;
    for (unsigned k = 0; k < gc->local && !rc; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        (void)snprintf(what, sizeof(what), "two GPU buffers of %zu bytes", bytes);
        cudaError_t error = cudaSetDevice(rank->cuda_ordinal);
        if (error == cudaSuccess)
            error = cudaMalloc(&rank->send, bytes);
        if (error == cudaSuccess)
            error = cudaMalloc(&rank->recv, bytes);
        if (error == cudaSuccess)
            error = cudaMemset(rank->send, 0, bytes);
        if (error == cudaSuccess)
            error = cudaMemset(rank->recv, 0, bytes);
        /* Our stream does not wait for the default one, where memset runs. */
        if (error == cudaSuccess)
            error = cudaDeviceSynchronize();
        rc = gpu_collective_cuda(gc, error, what, msg, size);
    }
    return rc;
}

void *gpu_collective_send_buffer(struct gpu_collective *gc, unsigned k)
{
    return gc->rank[k].send;
}

void *gpu_collective_recv_buffer(struct gpu_collective *gc, unsigned k)
{
    return gc->rank[k].recv;
}

void gpu_collective_drop_graphs(struct gpu_collective *gc)
{
    for (unsigned k = 0; k < gc->local; k++)
        for (unsigned g = 0; g < GRAPHS; g++) {
            if (gc->rank[k].graph[g])
                (void)cudaGraphExecDestroy(gc->rank[k].graph[g]);
            gc->rank[k].graph[g] = NULL;
        }
}

static void close_events(struct gpu_collective *gc, struct gpu_collective_rank *rank)
{
    for (unsigned i = 0; i < gc->times_most; i++) {
        if (rank->begin && rank->begin[i])
            (void)cudaEventDestroy(rank->begin[i]);
        if (rank->end && rank->end[i])
            (void)cudaEventDestroy(rank->end[i]);
    }
    if (rank->followed)
        (void)cudaEventDestroy(rank->followed);
    free(rank->begin);
    free(rank->end);
}

static void close_rank(struct gpu_collective *gc, struct gpu_collective_rank *rank)
{
    close_events(gc, rank);
    if (rank->seen)
        (void)cudaFreeHost(rank->seen);
    if (rank->found)
        (void)cudaFree(rank->found);
    if (rank->recv)
        (void)cudaFree(rank->recv);
    if (rank->send)
        (void)cudaFree(rank->send);
    if (rank->stream)
        (void)cudaStreamDestroy(rank->stream);
}

void gpu_collective_close(struct gpu_collective *gc)
{
    if (!gc)
        return;
    gpu_collective_drop_graphs(gc);
    /* Before any cudaFree, which waits for kernels; one that waits for a lost peer never ends. */
    for (unsigned k = 0; k < gc->local; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        if (rank->comm)
            (void)(gc->failed ? gc->nccl->comm_abort : gc->nccl->comm_destroy)(rank->comm);
        rank->comm = NULL;
    }
    for (unsigned k = 0; k < gc->local; k++)
        close_rank(gc, &gc->rank[k]);
    free(gc->rank);
    free(gc);
}

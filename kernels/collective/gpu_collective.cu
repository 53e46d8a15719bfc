#include "kernels/collective/gpu_collective_impl.cuh"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "kernels/gpu/gpu_common.cuh"

/* Large enough that a batch of small operations has a place for each operation. */
enum { BUFFER_LEAST = 1 << 20 };

void gpu_collective_name(const struct gpu_collective *gc, unsigned k, char *name, size_t size)
{
    const struct gpu_collective_rank *rank = &gc->rank[k];
    if (rank->cuda_ordinal < 0)
        (void)snprintf(name, size, "GPU %s", rank->pci_bdf);
    else
        (void)snprintf(name, size, "GPU %d (%s)", rank->cuda_ordinal, rank->pci_bdf);
}

/* "rank 2, GPU 1 (0000:07:00.0)", or "ranks 0 to 3". */
static void name_rank(const struct gpu_collective *gc, unsigned k, char *name, size_t size)
{
    char gpu[GPU_COLLECTIVE_NAME];
    if (k == gc->local && gc->local > 1) {
        (void)snprintf(name, size, "ranks %u to %u", gc->first, gc->first + gc->local - 1);
        return;
    }
    k = k < gc->local ? k : 0;
    gpu_collective_name(gc, k, gpu, sizeof(gpu));
    (void)snprintf(name, size, "rank %u, %s", gc->first + k, gpu);
}

int gpu_collective_cuda(struct gpu_collective *gc, unsigned k, cudaError_t error, const char *what,
                        struct err *err)
{
    char name[80], whole[176];
    if (error == cudaSuccess)
        return 0;
    gc->failed = true;
    name_rank(gc, k, name, sizeof(name));
    (void)snprintf(whole, sizeof(whole), "%s: %s", name, what);
    return gpu_fail(error, whole, err);
}

int gpu_collective_nccl(struct gpu_collective *gc, unsigned k, int error, const char *what,
                        struct err *err)
{
    char name[80];
    if (error == 0)
        return 0;
    gc->failed = true;
    name_rank(gc, k, name, sizeof(name));
    void *comm = gc->rank[k < gc->local ? k : 0].comm;
    const char *more = gc->nccl->get_last_error ? gc->nccl->get_last_error(comm) : NULL;
    (void)err_set(err, -EIO, "%s: %s: NCCL says '%s'%s%.120s", name, what,
                  gc->nccl->get_error_string(error), more && more[0] ? ": " : "", more ? more : "");
    /* The message must be one line, but the library's text may have several. */
    for (char *c = err ? err->msg : NULL; c && *c; c++)
        if (*c == '\n')
            *c = ' ';
    return -EIO;
}

int gpu_collective_load(int *version, struct err *err)
{
    const struct nccl_api *nccl = nccl_api_load(err);
    *version = nccl ? nccl->version : 0;
    return nccl ? 0 : -ENOTSUP;
}

static cudaError_t open_events(const struct gpu_collective *gc, struct gpu_collective_rank *rank)
{
    cudaError_t error = cudaSuccess;
    for (unsigned i = 0; i < 2 && error == cudaSuccess; i++)
        error = cudaEventCreate(&rank->clock_event[i]);
    for (unsigned i = 0; i < gc->times_most && error == cudaSuccess; i++) {
        error = cudaEventCreate(&rank->begin[i]);
        if (error == cudaSuccess)
            error = cudaEventCreate(&rank->end[i]);
    }
    return error;
}

static int open_rank(struct gpu_collective *gc, unsigned k, struct err *err)
{
    struct gpu_collective_rank *rank = &gc->rank[k];
    int ordinal = -1;
    int rc = gpu_collective_cuda(gc, k, cudaDeviceGetByPCIBusId(&ordinal, rank->pci_bdf),
                                 "there is no such GPU", err);
    if (rc)
        return rc == -EIO ? -ENODEV : rc;
    rank->cuda_ordinal = ordinal;
    cudaError_t error = cudaSetDevice(ordinal);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&rank->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaMalloc(&rank->found, sizeof(*rank->found));
    if (error == cudaSuccess)
        error = cudaHostAlloc(&rank->found_copy, sizeof(*rank->found_copy), cudaHostAllocPortable);
    if (error == cudaSuccess)
        error = open_events(gc, rank);
    return gpu_collective_cuda(gc, k, error, "cannot be used", err);
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
    gc->launched_ns = (uint64_t *)calloc(config->times_most + 1, sizeof(*gc->launched_ns));
    bool good = gc->rank && gc->launched_ns;
    for (unsigned k = 0; k < gc->local; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        rank->cuda_ordinal = -1;
        (void)snprintf(rank->pci_bdf, sizeof(rank->pci_bdf), "%s", config->pci_bdf[k]);
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
                        struct err *err)
{
    *gc = NULL;
    const struct nccl_api *nccl = nccl_api_load(err);
    if (!nccl)
        return -ENOTSUP;
    struct gpu_collective *opened = allocate_handle(config);
    if (!opened) {
        return err_set(err, -ENOMEM, "cannot allocate the state of %u ranks", config->local);
    }
    opened->nccl = nccl;
    int rc = 0;
    for (unsigned k = 0; k < opened->local && !rc; k++)
        rc = open_rank(opened, k, err);
    if (rc)
        gpu_collective_close(opened);
    else
        *gc = opened;
    return rc;
}

int gpu_collective_make_id(struct gpu_collective *gc, struct nccl_id *id, struct err *err)
{
    return gpu_collective_nccl(gc, 0, gc->nccl->get_unique_id(id), "cannot make an id", err);
}

static int join_one(struct gpu_collective *gc, unsigned k, const struct nccl_id *id,
                    struct err *err)
{
    const char *what = "cannot join the other ranks";
    struct gpu_collective_rank *rank = &gc->rank[k];
    int rc = gpu_collective_cuda(gc, k, cudaSetDevice(rank->cuda_ordinal), what, err);
    return rc ? rc
              : gpu_collective_nccl(gc, k,
                                    gc->nccl->comm_init_rank(&rank->comm, (int)gc->ranks, *id,
                                                             (int)(gc->first + k)),
                                    what, err);
}

int gpu_collective_join(struct gpu_collective *gc, const struct nccl_id *id, struct err *err)
{
    if (gc->local == 1)
        return join_one(gc, 0, id, err);
    /* Without a group, the first rank of this process would wait for its second rank. */
    int rc =
        gpu_collective_nccl(gc, gc->local, gc->nccl->group_start(), "cannot begin a group", err);
    if (rc)
        return rc;
    for (unsigned k = 0; k < gc->local && !rc; k++)
        rc = join_one(gc, k, id, err);
    /* Some ranks would wait for the rest: an invalid call makes the group start nothing. */
    void *none = NULL;
    if (rc)
        (void)gc->nccl->comm_init_rank(&none, 0, *id, -1);
    int ended = gc->nccl->group_end();
    return rc ? rc : gpu_collective_nccl(gc, gc->local, ended, "cannot join each other", err);
}

int gpu_collective_room(struct gpu_collective *gc, size_t *bytes, struct err *err)
{
    *bytes = SIZE_MAX;
    for (unsigned k = 0; k < gc->local; k++) {
        size_t unused = 0, total = 0;
        cudaError_t error = cudaSetDevice(gc->rank[k].cuda_ordinal);
        if (error == cudaSuccess)
            error = cudaMemGetInfo(&unused, &total);
        /* 45% for each of two buffers; NCCL needs the rest at first use. */
        size_t room = unused / 20 * 9 >> 20 << 20;
        if (error == cudaSuccess && room == 0)
            error = cudaErrorMemoryAllocation;
        int rc = gpu_collective_cuda(gc, k, error, "no memory for buffers", err);
        if (rc)
            return rc;
        *bytes = room < *bytes ? room : *bytes;
    }
    return 0;
}

static int allocate_plain(struct gpu_collective *gc, unsigned k, const char *what, struct err *err)
{
    struct gpu_collective_rank *rank = &gc->rank[k];
    cudaError_t error = cudaMalloc(&rank->send, gc->bytes);
    if (error == cudaSuccess)
        error = cudaMalloc(&rank->recv, gc->bytes);
    return gpu_collective_cuda(gc, k, error, what, err);
}

static int allocate_registered(struct gpu_collective *gc, unsigned k, const char *what,
                               struct err *err)
{
    const struct nccl_api *nccl = gc->nccl;
    struct gpu_collective_rank *rank = &gc->rank[k];
    int error = nccl->mem_alloc((void **)&rank->send, gc->bytes);
    if (!error)
        error = nccl->mem_alloc((void **)&rank->recv, gc->bytes);
    if (!error)
        error = nccl->comm_register(rank->comm, rank->send, gc->bytes, &rank->handles[0]);
    if (!error)
        error = nccl->comm_register(rank->comm, rank->recv, gc->bytes, &rank->handles[1]);
    return gpu_collective_nccl(gc, k, error, what, err);
}

int gpu_collective_allocate(struct gpu_collective *gc, size_t bytes, bool registered,
                            struct err *err)
{
    char what[96];
    int rc = 0;
    if (registered && (!gc->nccl->mem_alloc || !gc->nccl->mem_free || !gc->nccl->comm_register ||
                       !gc->nccl->comm_deregister)) {
        return err_set(err, -ENOTSUP, "registered buffers need NCCL 2.19 or later");
    }
    gc->registered = registered;
    gc->bytes = bytes > BUFFER_LEAST ? bytes : BUFFER_LEAST;
    (void)snprintf(what, sizeof(what), "two GPU buffers of %zu bytes", gc->bytes);
    for (unsigned k = 0; k < gc->local && !rc; k++) {
        struct gpu_collective_rank *rank = &gc->rank[k];
        rc = gpu_collective_cuda(gc, k, cudaSetDevice(rank->cuda_ordinal), what, err);
        if (!rc)
            rc = (registered ? allocate_registered : allocate_plain)(gc, k, what, err);
        if (rc)
            break;
        cudaError_t error = cudaMemset(rank->send, 0, gc->bytes);
        if (error == cudaSuccess)
            error = cudaMemset(rank->recv, 0, gc->bytes);
        /* The rank's stream does not wait for the default stream, where memset runs. */
        if (error == cudaSuccess)
            error = cudaDeviceSynchronize();
        rc = gpu_collective_cuda(gc, k, error, what, err);
    }
    return rc;
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
    for (unsigned i = 0; i < 2; i++)
        if (rank->clock_event[i])
            (void)cudaEventDestroy(rank->clock_event[i]);
    free(rank->begin);
    free(rank->end);
}

static void free_buffer(const struct gpu_collective *gc, void *buffer)
{
    if (buffer && gc->registered)
        (void)gc->nccl->mem_free(buffer);
    else if (buffer)
        (void)cudaFree(buffer);
}

/* An aborted communicator deregisters its buffers by itself. */
static void close_comm(const struct gpu_collective *gc, struct gpu_collective_rank *rank)
{
    for (unsigned i = 0; i < 2 && rank->comm && !gc->failed; i++)
        if (rank->handles[i])
            (void)gc->nccl->comm_deregister(rank->comm, rank->handles[i]);
    if (rank->comm)
        (void)(gc->failed ? gc->nccl->comm_abort : gc->nccl->comm_destroy)(rank->comm);
    rank->comm = NULL;
}

static void close_rank(struct gpu_collective *gc, struct gpu_collective_rank *rank)
{
    close_events(gc, rank);
    if (rank->found_copy)
        (void)cudaFreeHost(rank->found_copy);
    if (rank->found)
        (void)cudaFree(rank->found);
    free_buffer(gc, rank->recv);
    free_buffer(gc, rank->send);
    if (rank->stream)
        (void)cudaStreamDestroy(rank->stream);
}

void gpu_collective_close(struct gpu_collective *gc)
{
    if (!gc)
        return;
    gpu_collective_drop_graphs(gc);
    /* Before any cudaFree: it waits for kernels, and a kernel that waits for a lost peer never
     * ends. */
    for (unsigned k = 0; k < gc->local; k++)
        close_comm(gc, &gc->rank[k]);
    for (unsigned k = 0; k < gc->local; k++)
        close_rank(gc, &gc->rank[k]);
    free(gc->launched_ns);
    free(gc->rank);
    free(gc);
}

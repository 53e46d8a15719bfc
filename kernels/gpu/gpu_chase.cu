#include "kernels/gpu/gpu_chase.h"

#include <cerrno>
#include <cstdlib>

#include "kernels/cpu/mix64.h"
#include "kernels/gpu/gpu_common.cuh"

enum { LINKS_LEAST = 16 };

/* Each link holds the offset of the next link, in bytes from base. */
__global__ void walk(const char *base, uint64_t at, unsigned loads, uint64_t *end)
{
    for (unsigned i = 0; i < loads; i++)
        at = *(const volatile uint64_t *)(base + at);
    *end = at;
}

struct chain {
    size_t links, stride;
    uint64_t *next; /* of each link, owned */
    uint64_t last;  /* offset at which a walk over all links from link 0 ends */
};

/* Makes one cycle over all links, by swaps with an earlier link (Sattolo). */
static void shuffle(struct chain *chain, uint64_t seed)
{
    for (size_t i = 0; i < chain->links; i++)
        chain->next[i] = i;
    for (size_t i = chain->links - 1; i > 0; i--) {
        size_t other = (size_t)(mix64(seed ^ mix64(i)) % i);
        uint64_t swapped = chain->next[i];
        chain->next[i] = chain->next[other];
        chain->next[other] = swapped;
    }
    for (size_t i = 0, at = 0; i < chain->links; i++, at = (size_t)chain->next[at])
        chain->last = at * chain->stride;
    for (size_t i = 0; i < chain->links; i++)
        chain->next[i] *= chain->stride;
}

static int make_chain(struct chain *chain, size_t bytes, uint64_t seed, struct err *err)
{
    chain->links = bytes / GPU_CHASE_LINE;
    chain->links = chain->links < GPU_CHASE_LINKS ? chain->links : GPU_CHASE_LINKS;
    if (chain->links < LINKS_LEAST) {
        return err_set(err, -EINVAL, "%zu bytes are too few for a chain", bytes);
    }
    chain->stride = bytes / chain->links / GPU_CHASE_LINE * GPU_CHASE_LINE;
    chain->next = (uint64_t *)calloc(chain->links, sizeof(*chain->next));
    if (!chain->next) {
        return err_set(err, -ENOMEM, "cannot allocate a chain of %zu links", chain->links);
    }
    shuffle(chain, seed);
    return 0;
}

/* Fills the GPU's L2 twice with other lines. Makes the GPU the thread's current one. */
static cudaError_t flush_l2(int ordinal)
{
    int l2_bytes = 0;
    void *other = NULL;
    cudaError_t error = cudaSetDevice(ordinal);
    if (error == cudaSuccess)
        error = cudaDeviceGetAttribute(&l2_bytes, cudaDevAttrL2CacheSize, ordinal);
    if (error != cudaSuccess || l2_bytes <= 0)
        return error;
    error = cudaMalloc(&other, 2 * (size_t)l2_bytes);
    if (error == cudaSuccess)
        error = cudaMemset(other, 0, 2 * (size_t)l2_bytes);
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    (void)cudaFree(other);
    return error;
}

/* Also flushes the GPU that owns the memory. At the end `ordinal` is the thread's GPU again. */
static cudaError_t flush(const void *memory, int ordinal)
{
    cudaPointerAttributes where;
    cudaError_t error = cudaPointerGetAttributes(&where, memory);
    if (error == cudaSuccess && where.type == cudaMemoryTypeDevice && where.device != ordinal)
        error = flush_l2(where.device);
    return error == cudaSuccess ? flush_l2(ordinal) : error;
}

struct walker {
    cudaEvent_t begin, end;
    uint64_t *ended_at; /* on the device */
};

static cudaError_t open_walker(struct walker *walker)
{
    cudaError_t error = cudaEventCreate(&walker->begin);
    if (error == cudaSuccess)
        error = cudaEventCreate(&walker->end);
    return error == cudaSuccess ? cudaMalloc(&walker->ended_at, sizeof(*walker->ended_at)) : error;
}

static void close_walker(struct walker *walker)
{
    (void)cudaFree(walker->ended_at);
    if (walker->end)
        (void)cudaEventDestroy(walker->end);
    if (walker->begin)
        (void)cudaEventDestroy(walker->begin);
}

/* Makes all loads except the last, which would return to the start. */
static cudaError_t walk_once(const struct walker *walker, const void *memory,
                             const struct chain *chain, uint64_t *ended_at, float *took_ms)
{
    cudaError_t error = cudaMemset(walker->ended_at, 0xff, sizeof(*ended_at));
    if (error == cudaSuccess)
        error = cudaEventRecord(walker->begin);
    if (error == cudaSuccess) {
        walk<<<1, 1>>>((const char *)memory, 0, (unsigned)chain->links - 1, walker->ended_at);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess)
        error = cudaEventRecord(walker->end);
    if (error == cudaSuccess)
        error = cudaMemcpy(ended_at, walker->ended_at, sizeof(*ended_at), cudaMemcpyDeviceToHost);
    return error == cudaSuccess ? cudaEventElapsedTime(took_ms, walker->begin, walker->end) : error;
}

static int measure(const struct chain *chain, void *memory, int ordinal, double *ns,
                   struct err *err)
{
    struct walker walker = {};
    uint64_t ended_at = 0;
    float took_ms = 0;
    cudaError_t error = open_walker(&walker);
    if (error == cudaSuccess)
        error = cudaMemcpy2D(memory, chain->stride, chain->next, sizeof(*chain->next),
                             sizeof(*chain->next), chain->links, cudaMemcpyDefault);
    if (error == cudaSuccess)
        error = walk_once(&walker, memory, chain, &ended_at, &took_ms);
    if (error == cudaSuccess)
        error = flush(memory, ordinal);
    if (error == cudaSuccess)
        error = walk_once(&walker, memory, chain, &ended_at, &took_ms);
    close_walker(&walker);
    *ns = (double)took_ms * 1e6 / (double)(chain->links - 1);
    if (error != cudaSuccess || ended_at == chain->last)
        return gpu_checked(error, "chain of loads", err);
    return err_set(err, -EBADMSG, "a chain of %zu loads ended at %llu, not at %llu",
                   chain->links - 1, (unsigned long long)ended_at, (unsigned long long)chain->last);
}

int gpu_chase(const char *pci_bdf, void *memory, size_t bytes, uint64_t seed, double *ns,
              struct err *err)
{
    struct chain chain = {};
    int ordinal = 0;
    int rc = make_chain(&chain, bytes, seed, err);
    if (!rc)
        rc = gpu_open(pci_bdf, cudaDeviceScheduleSpin, &ordinal, err);
    if (!rc)
        rc = measure(&chain, memory, ordinal, ns, err);
    free(chain.next);
    return rc;
}

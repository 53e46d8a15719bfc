#include "bench/copy/gpu_copy_host.h"

#ifdef CONTEND_HAVE_CUDA

#include <errno.h>
#include <numaif.h>
#include <string.h>

#include "bench/common/memory_node.h"
#include "bench/gpu/gpu.h"

enum {
    SMALLER = 4, /* divides the size of pageable and write-combined buffers */
    STEP = 1 << 16,
    TRIED = 1 << 21,
    NODE_MASK_BITS = 1024,
    WORD_BITS = 8 * sizeof(unsigned long)
};

/* The patterns differ from those of GPUs' sources, whose salts start at 1. */
enum { SALT_REGION = 1 << 8, SALT_PAGED = 2 << 8, SALT_COMBINED = 3 << 8 };

static bool is_home(const struct copy_shape *shape, unsigned node)
{
    for (unsigned gpu = 0; gpu < shape->ngpus; gpu++)
        if (shape->home[gpu] == node)
            return true;
    return false;
}

/* Quarters of `bytes` in a node's buffers: pinned in and out, pageable in and out, combined. */
static size_t quarters_on(const struct copy_shape *shape, unsigned node)
{
    size_t regions = 0;
    for (unsigned gpu = 0; gpu < shape->ngpus; gpu++)
        regions += shape->home[gpu] == node;
    const size_t a_region = (size_t)2 * SMALLER;
    return regions ? a_region * regions + 3 : a_region;
}

size_t copy_host_fitting(const struct copy_shape *shape, size_t wanted)
{
    size_t quarters = 1; /* for other allocations */
    uint64_t most = wanted, room;
    for (unsigned node = 0; node < shape->nnodes; node++) {
        size_t here = quarters_on(shape, node);
        quarters += here;
        room = shape->bound ? memory_node_free_bytes(shape->os_node[node]) : 0;
        if (room && room / 2 / here * SMALLER < most)
            most = room / 2 / here * SMALLER;
    }
    room = memory_available_bytes();
    if (room / 2 / quarters * SMALLER < most)
        most = room / 2 / quarters * SMALLER;
    return memory_round_down(most, STEP);
}

static int map_region(struct copy_region *region, const struct copy_shape *shape, unsigned node,
                      size_t bytes, struct err *err)
{
    region->node = node;
    int rc = memory_map(&region->block, bytes, MEMORY_THP, err);
    if (!rc && shape->bound)
        rc = memory_node_bind(&region->block, shape->os_node[node], err);
    return rc;
}

static int add_region(struct copy_host *host, unsigned node, struct err *err)
{
    struct copy_region *region = &host->regions[host->nregions++];
    int rc = map_region(region, host->shape, node, 2 * host->bytes, err);
    if (!rc)
        rc = gpu_copy_pin(region->block.base, region->block.bytes, err);
    region->pinned = !rc;
    return rc;
}

/*
 * Some nodes have memory that cannot be page-locked, or that moves to another node when it is: that
 * of CXL devices or GPUs, if the system has it as movable (Linux, admin-guide/mm/memory-hotplug).
 */
static int try_node(const struct copy_shape *shape, unsigned node, struct err *err)
{
    struct copy_region region;
    double share = 1;
    int rc = map_region(&region, shape, node, TRIED, err);
    if (!rc) {
        memset(region.block.base, 0, region.block.bytes);
        rc = gpu_copy_pin(region.block.base, region.block.bytes, err);
    }
    if (!rc) {
        if (shape->bound)
            rc = memory_node_share(&region.block, shape->os_node[node], &share, err);
        gpu_copy_unpin(region.block.base);
    }
    memory_unmap(&region.block);
    if (!rc && share < 1)
        rc = err_set(err, -ENOTSUP, "memory of node %u moves away where it is page-locked",
                     shape->os_node[node]);
    return rc ? (err->code = -ENOTSUP) : 0;
}

/* The driver allocates by the thread's memory policy. If that is refused, any node may be used. */
static int alloc_combined(struct copy_host *host, unsigned node, struct err *err)
{
    unsigned long old[NODE_MASK_BITS / WORD_BITS] = {0}, mask[NODE_MASK_BITS / WORD_BITS] = {0};
    unsigned os_node = host->shape->os_node[node];
    int mode;
    mask[os_node / WORD_BITS] = 1ul << os_node % WORD_BITS;
    bool moved = host->shape->bound && !get_mempolicy(&mode, old, NODE_MASK_BITS, NULL, 0) &&
                 !set_mempolicy(MPOL_PREFERRED, mask, NODE_MASK_BITS);
    int rc =
        gpu_copy_alloc_combined(copy_host_bytes(host, COPY_COMBINED), &host->combined[node], err);
    if (moved && set_mempolicy(mode, old, NODE_MASK_BITS) && !rc)
        rc = err_sys(err, -errno, "cannot restore the memory policy");
    return rc;
}

int copy_host_open(struct copy_host *host, const struct copy_shape *shape, size_t bytes,
                   struct err *err)
{
    int rc = 0;
    memset(host, 0, sizeof(*host));
    host->shape = shape;
    host->bytes = bytes;
    for (unsigned gpu = 0; gpu < shape->ngpus && !rc; gpu++)
        rc = add_region(host, shape->home[gpu], err);
    for (unsigned node = 0; node < shape->nnodes && !rc; node++) {
        if (!is_home(shape, node)) {
            rc = try_node(shape, node, &host->dropped[node]) ? 0 : add_region(host, node, err);
            continue;
        }
        rc =
            map_region(&host->paged[node], shape, node, 2 * copy_host_bytes(host, COPY_PAGED), err);
        if (!rc)
            rc = alloc_combined(host, node, err);
    }
    return rc;
}

size_t copy_host_bytes(const struct copy_host *host, enum copy_mem mem)
{
    return mem == COPY_PINNED ? host->bytes : host->bytes / SMALLER;
}

/* The GPU's own region if `node` is its home, else the first region on `node`. */
static unsigned find_region(const struct copy_host *host, unsigned gpu, unsigned node)
{
    unsigned i = 0;
    if (host->regions[gpu].node == node)
        return gpu;
    while (i + 1 < host->nregions && host->regions[i].node != node)
        i++;
    return i;
}

static char *place(const struct copy_host *host, enum copy_mem mem, unsigned gpu, unsigned node)
{
    if (mem == COPY_COMBINED)
        return host->combined[node];
    if (mem == COPY_PAGED)
        return host->paged[node].block.base;
    return host->regions[find_region(host, gpu, node)].block.base;
}

const void *copy_host_from(const struct copy_host *host, enum copy_mem mem, unsigned gpu,
                           unsigned node)
{
    return place(host, mem, gpu, node);
}

void *copy_host_to(const struct copy_host *host, enum copy_mem mem, unsigned gpu, unsigned node)
{
    return place(host, mem, gpu, node) + copy_host_bytes(host, mem);
}

uint64_t copy_host_salt(const struct copy_host *host, enum copy_mem mem, unsigned gpu,
                        unsigned node)
{
    if (mem == COPY_COMBINED)
        return SALT_COMBINED + node;
    return mem == COPY_PAGED ? SALT_PAGED + node : SALT_REGION + find_region(host, gpu, node);
}

int copy_host_fill(const struct copy_host *host, struct gpu_copy *copy, unsigned gpu,
                   struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < host->nregions && !rc; i++)
        rc = gpu_copy_fill(copy, gpu, host->regions[i].block.base, host->bytes, SALT_REGION + i,
                           err);
    for (unsigned node = 0; node < host->shape->nnodes && !rc; node++) {
        if (!host->combined[node])
            continue;
        rc = gpu_copy_fill(copy, gpu, host->paged[node].block.base,
                           copy_host_bytes(host, COPY_PAGED), SALT_PAGED + node, err);
        if (!rc)
            rc = gpu_copy_fill(copy, gpu, host->combined[node],
                               copy_host_bytes(host, COPY_COMBINED), SALT_COMBINED + node, err);
    }
    return rc;
}

int copy_host_share(const struct copy_host *host, unsigned node, double *share, struct err *err)
{
    int rc = 0;
    *share = 1;
    for (unsigned i = 0; i < host->nregions && !rc; i++) {
        double there = 1;
        if (host->regions[i].node == node)
            rc =
                memory_node_share(&host->regions[i].block, host->shape->os_node[node], &there, err);
        *share = there < *share ? there : *share;
    }
    return rc;
}

void copy_host_close(struct copy_host *host)
{
    for (unsigned node = 0; node < COPY_NODES; node++) {
        gpu_copy_free_combined(host->combined[node]);
        memory_unmap(&host->paged[node].block);
    }
    for (unsigned i = host->nregions; i-- > 0;) {
        if (host->regions[i].pinned)
            gpu_copy_unpin(host->regions[i].block.base);
        memory_unmap(&host->regions[i].block);
    }
    memset(host, 0, sizeof(*host));
}

#endif

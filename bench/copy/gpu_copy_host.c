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
enum { SALT_BOX = 1 << 8, SALT_PAGED = 2 << 8, SALT_COMBINED = 3 << 8 };

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
    size_t boxes = 0;
    for (unsigned gpu = 0; gpu < shape->ngpus; gpu++)
        boxes += shape->home[gpu] == node;
    const size_t a_box = (size_t)2 * SMALLER;
    return boxes ? a_box * boxes + 3 : a_box;
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

static int map_box(struct copy_box *box, const struct copy_shape *shape, unsigned node,
                   size_t bytes, struct err *err)
{
    box->node = node;
    int rc = memory_map(&box->block, bytes, MEMORY_THP, err);
    if (!rc && shape->bound)
        rc = memory_node_bind(&box->block, shape->os_node[node], err);
    return rc;
}

static int add_box(struct copy_host *host, unsigned node, struct err *err)
{
    char msg[GPU_MSG] = "";
    struct copy_box *box = &host->box[host->nboxes++];
    int rc = map_box(box, host->shape, node, 2 * host->bytes, err);
    if (!rc)
        rc = gpu_error(gpu_copy_pin(box->block.base, box->block.bytes, msg, sizeof(msg)), msg, err);
    box->pinned = !rc;
    return rc;
}

/*
 * Some nodes have memory that cannot be page-locked, or that moves to another node when it is: that
 * of CXL devices or GPUs, if the system has it as movable (Linux, admin-guide/mm/memory-hotplug).
 */
static int try_node(const struct copy_shape *shape, unsigned node, struct err *err)
{
    char msg[GPU_MSG] = "";
    struct copy_box box;
    double share = 1;
    int rc = map_box(&box, shape, node, TRIED, err);
    if (!rc) {
        memset(box.block.base, 0, box.block.bytes);
        rc = gpu_error(gpu_copy_pin(box.block.base, box.block.bytes, msg, sizeof(msg)), msg, err);
    }
    if (!rc) {
        if (shape->bound)
            rc = memory_node_share(&box.block, shape->os_node[node], &share, err);
        gpu_copy_unpin(box.block.base);
    }
    memory_unmap(&box.block);
    if (!rc && share < 1)
        rc = err_set(err, -ENOTSUP, "memory of node %u moves away where it is page-locked",
                     shape->os_node[node]);
    return rc ? (err->code = -ENOTSUP) : 0;
}

/* The driver allocates by the thread's memory policy. If that is refused, any node may be used. */
static int alloc_combined(struct copy_host *host, unsigned node, struct err *err)
{
    char msg[GPU_MSG] = "";
    unsigned long old[NODE_MASK_BITS / WORD_BITS] = {0}, mask[NODE_MASK_BITS / WORD_BITS] = {0};
    unsigned os_node = host->shape->os_node[node];
    int mode;
    mask[os_node / WORD_BITS] = 1ul << os_node % WORD_BITS;
    bool moved = host->shape->bound && !get_mempolicy(&mode, old, NODE_MASK_BITS, NULL, 0) &&
                 !set_mempolicy(MPOL_PREFERRED, mask, NODE_MASK_BITS);
    int rc = gpu_error(gpu_copy_alloc_combined(copy_host_bytes(host, COPY_COMBINED),
                                               &host->combined[node], msg, sizeof(msg)),
                       msg, err);
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
        rc = add_box(host, shape->home[gpu], err);
    for (unsigned node = 0; node < shape->nnodes && !rc; node++) {
        if (!is_home(shape, node)) {
            rc = try_node(shape, node, &host->dropped[node]) ? 0 : add_box(host, node, err);
            continue;
        }
        rc = map_box(&host->paged[node], shape, node, 2 * copy_host_bytes(host, COPY_PAGED), err);
        if (!rc)
            rc = alloc_combined(host, node, err);
    }
    return rc;
}

size_t copy_host_bytes(const struct copy_host *host, enum copy_mem mem)
{
    return mem == COPY_PINNED ? host->bytes : host->bytes / SMALLER;
}

/* The GPU's own box if `node` is its home, else the first box on `node`. */
static unsigned find_box(const struct copy_host *host, unsigned gpu, unsigned node)
{
    unsigned i = 0;
    if (host->box[gpu].node == node)
        return gpu;
    while (i + 1 < host->nboxes && host->box[i].node != node)
        i++;
    return i;
}

static char *place(const struct copy_host *host, enum copy_mem mem, unsigned gpu, unsigned node)
{
    if (mem == COPY_COMBINED)
        return host->combined[node];
    if (mem == COPY_PAGED)
        return host->paged[node].block.base;
    return host->box[find_box(host, gpu, node)].block.base;
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
    return mem == COPY_PAGED ? SALT_PAGED + node : SALT_BOX + find_box(host, gpu, node);
}

int copy_host_fill(const struct copy_host *host, struct gpu_copy *copy, unsigned gpu, char *msg,
                   size_t size)
{
    int rc = 0;
    for (unsigned i = 0; i < host->nboxes && !rc; i++)
        rc =
            gpu_copy_fill(copy, gpu, host->box[i].block.base, host->bytes, SALT_BOX + i, msg, size);
    for (unsigned node = 0; node < host->shape->nnodes && !rc; node++) {
        if (!host->combined[node])
            continue;
        rc = gpu_copy_fill(copy, gpu, host->paged[node].block.base,
                           copy_host_bytes(host, COPY_PAGED), SALT_PAGED + node, msg, size);
        if (!rc)
            rc =
                gpu_copy_fill(copy, gpu, host->combined[node], copy_host_bytes(host, COPY_COMBINED),
                              SALT_COMBINED + node, msg, size);
    }
    return rc;
}

int copy_host_share(const struct copy_host *host, unsigned node, double *share, struct err *err)
{
    int rc = 0;
    *share = 1;
    for (unsigned i = 0; i < host->nboxes && !rc; i++) {
        double there = 1;
        if (host->box[i].node == node)
            rc = memory_node_share(&host->box[i].block, host->shape->os_node[node], &there, err);
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
    for (unsigned i = host->nboxes; i-- > 0;) {
        if (host->box[i].pinned)
            gpu_copy_unpin(host->box[i].block.base);
        memory_unmap(&host->box[i].block);
    }
    memset(host, 0, sizeof(*host));
}

#endif

/*
 * The host memory of gpu_copy: for every GPU page-locked buffers on its home node, the same on
 * nodes that are no GPU's home, and on home nodes pageable and write-combined ones. A node that is
 * no GPU's home and on which memory cannot be page-locked is left out. Only in builds with CUDA.
 *
 *   copy_host_open(&host, &shape, bytes, err);       behind gpu_copy_open; -ENOMEM: try less
 *   copy_host_fill(&host, copy, 0, msg, sizeof(msg));
 *   copy_host_from(&host, COPY_PINNED, gpu, node);   what a copy to that GPU reads
 *   copy_host_close(&host);                          also after a failed open; fine for zeros
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_HOST_H
#define CONTEND_BENCH_COPY_GPU_COPY_HOST_H

#include "bench/common/memory.h"
#include "bench/copy/gpu_copy_plan.h"

/* One mapping, its first half read by copies and its second half written. */
struct copy_box {
    unsigned node; /* index */
    struct memory_block block;
    bool pinned;
};

struct copy_host {
    const struct copy_shape *shape;
    size_t bytes;    /* of a page-locked half */
    unsigned nboxes; /* GPUs first, then nodes without one */
    struct copy_box box[GPU_COPY_GPUS + COPY_NODES];
    struct copy_box paged[COPY_NODES]; /* by node; empty where no GPU is at home */
    void *combined[COPY_NODES];        /* the same */
    struct err lost[COPY_NODES];       /* why a node is left out; code 0 = it is not */
};

/*
 * The most bytes, up to `wanted`, for which the machine's free memory and its nodes' have room:
 * half of it at most. A multiple of 64 KiB; 0 where there is less room than that.
 */
size_t copy_host_fitting(const struct copy_shape *shape, size_t wanted);

/* `bytes`: of a page-locked half, a multiple of 4 * GPU_COPY_GRAIN. */
int copy_host_open(struct copy_host *host, const struct copy_shape *shape, size_t bytes,
                   struct err *err);

/* The patterns, into all that copies read, by way of that GPU. */
int copy_host_fill(const struct copy_host *host, struct gpu_copy *copy, unsigned gpu, char *msg,
                   size_t size);

/* Bytes of a copy: pageable and write-combined buffers are a quarter of the others. */
size_t copy_host_bytes(const struct copy_host *host, enum copy_mem mem);

/* The memory that a copy of that GPU reads and writes; the salt of the pattern in the former. */
const void *copy_host_from(const struct copy_host *host, enum copy_mem mem, unsigned gpu,
                           unsigned node);
void *copy_host_to(const struct copy_host *host, enum copy_mem mem, unsigned gpu, unsigned node);
uint64_t copy_host_salt(const struct copy_host *host, enum copy_mem mem, unsigned gpu,
                        unsigned node);

/* The share of a node's page-locked pages, the worst of its buffers', that lies there. */
int copy_host_share(const struct copy_host *host, unsigned node, double *share, struct err *err);

void copy_host_close(struct copy_host *host);

#endif

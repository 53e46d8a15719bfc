/*
 * The host memory of gpu_copy: page-locked buffers for every GPU on its home node, and on every
 * node that is no GPU's home; pageable and write-combined buffers on home nodes only. A node that
 * is no GPU's home is left out if its memory cannot be page-locked. Only in builds with CUDA.
 *
 *   copy_host_open(&host, &shape, bytes, err);       after gpu_copy_open; -ENOMEM: try less
 *   copy_host_fill(&host, copy, 0, err);
 *   copy_host_from(&host, COPY_PINNED, gpu, node);   what a copy to that GPU reads
 *   copy_host_close(&host);                          also after a failed open or if all zero
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_HOST_H
#define CONTEND_BENCH_COPY_GPU_COPY_HOST_H

#include "bench/common/memory.h"
#include "bench/copy/gpu_copy_plan.h"

/* One mapping: copies read its first half and write its second half. */
struct copy_region {
    unsigned node; /* index */
    struct memory_block block;
    bool pinned;
};

struct copy_host {
    const struct copy_shape *shape;
    size_t bytes;      /* of a page-locked half */
    unsigned nregions; /* one per GPU, then one per node that is no GPU's home */
    struct copy_region regions[GPU_COPY_GPUS + COPY_NODES];
    struct copy_region paged[COPY_NODES]; /* by node; empty if it is no GPU's home */
    void *combined[COPY_NODES];           /* by node; NULL if it is no GPU's home */
    struct err dropped[COPY_NODES];       /* why a node is left out; code 0 = it is not */
};

/*
 * The largest `bytes` for copy_host_open, up to `wanted`, with which all buffers take at most half
 * of the free memory of the machine and of each node. A multiple of 64 KiB; 0: too little memory.
 */
size_t copy_host_fitting(const struct copy_shape *shape, size_t wanted);

/* `bytes`: of half a page-locked buffer, a multiple of 4 * GPU_COPY_GRAIN. 0, or -errno. */
int copy_host_open(struct copy_host *host, const struct copy_shape *shape, size_t bytes,
                   struct err *err);

/* Writes the patterns into all memory that copies read, with GPU `gpu`. -errno. */
int copy_host_fill(const struct copy_host *host, struct gpu_copy *copy, unsigned gpu,
                   struct err *err);

/* Bytes of a copy: a quarter of host->bytes for pageable and write-combined memory. */
size_t copy_host_bytes(const struct copy_host *host, enum copy_mem mem);

/* The memory that a copy of `gpu` reads, or writes; the salt of the pattern that it reads. */
const void *copy_host_from(const struct copy_host *host, enum copy_mem mem, unsigned gpu,
                           unsigned node);
void *copy_host_to(const struct copy_host *host, enum copy_mem mem, unsigned gpu, unsigned node);
uint64_t copy_host_salt(const struct copy_host *host, enum copy_mem mem, unsigned gpu,
                        unsigned node);

/* *share: of a page-locked buffer's pages that lie on its node, 0..1; the lowest of the node. */
int copy_host_share(const struct copy_host *host, unsigned node, double *share, struct err *err);

void copy_host_close(struct copy_host *host);

#endif

/*
 * The memory in which batches are made and from which they are copied: one mapping per slot, bound
 * to a NUMA node, and checked afterwards. A zeroed struct is closed.
 */
#ifndef CONTEND_BENCH_DEVICE_HOST_BUFFERS_H
#define CONTEND_BENCH_DEVICE_HOST_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/common/memory.h"

struct host_buffers {
    unsigned n;
    int os_node; /* -1: not bound */
    bool borrowed;
    struct memory_block *block;
};

/*
 * Maps n buffers, not touched yet: on the node, if the system permits and the node has room, or,
 * with os_node -1, on the node of the first touch. -ENOMEM; they are closed then.
 */
int host_buffers_open(struct host_buffers *buffers, unsigned n, size_t bytes, int os_node,
                      struct err *err);

/* The same for memory that the caller has mapped and unmaps: whole pages, not touched yet. */
int host_buffers_borrow(struct host_buffers *buffers, unsigned n, size_t bytes, float *const *at,
                        int os_node, struct err *err);

float *host_buffers_at(const struct host_buffers *buffers, unsigned slot);

/* The share of all pages on the node, 0..1; NaN = no node, or unknown. */
double host_buffers_share(const struct host_buffers *buffers);

void host_buffers_close(struct host_buffers *buffers);

#endif

/*
 * The memory that batches are made in and copied from: a mapping a slot, bound to a NUMA node, and
 * asked afterwards where it lies. A zeroed struct is closed.
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
 * n buffers, not touched yet: on the node, where the system lets us and has room there, or, with
 * os_node -1, where they are touched first. -ENOMEM; they are closed then.
 */
int host_buffers_open(struct host_buffers *buffers, unsigned n, size_t bytes, int os_node,
                      struct err *err);

/* The same of memory that somebody else has mapped and takes back: whole pages, not touched yet. */
int host_buffers_borrow(struct host_buffers *buffers, unsigned n, size_t bytes, float *const *at,
                        int os_node, struct err *err);

float *host_buffers_at(const struct host_buffers *buffers, unsigned slot);

/* The share of all pages that lies on the node; NaN where there is none, or nobody tells. */
double host_buffers_share(const struct host_buffers *buffers);

void host_buffers_close(struct host_buffers *buffers);

#endif

#include "bench/device/host_buffers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/common/memory_node.h"

/* Touching bound memory without room kills the process. Unbound, host_buffers_share reports its
 * place. */
static bool has_room(unsigned os_node, size_t bytes)
{
    uint64_t free_bytes = memory_node_free_bytes(os_node);
    return !free_bytes || free_bytes / 2 > bytes;
}

int host_buffers_open(struct host_buffers *buffers, unsigned n, size_t bytes, int os_node,
                      struct err *err)
{
    int rc = 0;
    *buffers =
        (struct host_buffers){.os_node = os_node, .block = calloc(n, sizeof(struct memory_block))};
    for (; buffers->block && buffers->n < n && !rc; buffers->n += !rc) {
        struct memory_block *block = &buffers->block[buffers->n];
        rc = memory_map(block, bytes, MEMORY_THP, NULL);
        if (!rc && os_node >= 0 && has_room((unsigned)os_node, n * block->bytes))
            (void)memory_node_bind(block, (unsigned)os_node, NULL);
    }
    if (!rc && buffers->block)
        return 0;
    host_buffers_close(buffers);
    return err_set(err, -ENOMEM, "cannot allocate %u batches of %zu bytes", n, bytes);
}

int host_buffers_borrow(struct host_buffers *buffers, unsigned n, size_t bytes, float *const *at,
                        int os_node, struct err *err)
{
    *buffers = (struct host_buffers){
        .n = n, .os_node = os_node, .borrowed = true, .block = calloc(n, sizeof(*buffers->block))};
    if (!buffers->block)
        return err_set(err, -ENOMEM, "no memory for %u buffers", n);
    for (unsigned i = 0; i < n; i++) {
        buffers->block[i] = (struct memory_block){.base = at[i], .bytes = bytes};
        if (os_node >= 0 && has_room((unsigned)os_node, n * bytes))
            (void)memory_node_bind(&buffers->block[i], (unsigned)os_node, NULL);
    }
    return 0;
}

float *host_buffers_at(const struct host_buffers *buffers, unsigned slot)
{
    return buffers->block[slot].base;
}

double host_buffers_share(const struct host_buffers *buffers)
{
    double sum = 0, share;
    for (unsigned i = 0; i < buffers->n; i++) {
        if (buffers->os_node < 0 ||
            memory_node_share(&buffers->block[i], (unsigned)buffers->os_node, &share, NULL))
            return NAN;
        sum += share;
    }
    return buffers->n ? sum / buffers->n : NAN;
}

void host_buffers_close(struct host_buffers *buffers)
{
    for (unsigned i = 0; i < buffers->n && !buffers->borrowed; i++)
        memory_unmap(&buffers->block[i]);
    free(buffers->block);
    *buffers = (struct host_buffers){0};
}

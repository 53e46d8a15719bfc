#include "bench/device/device.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/common/memory_node.h"

static void host_buffers_close(struct host_buffers *buffers);

/* Touching bound memory without room kills the process. Unbound, host_buffers_share reports its
 * place. */
static bool has_room(unsigned os_node, size_t bytes)
{
    uint64_t free_bytes = memory_node_free_bytes(os_node);
    return !free_bytes || free_bytes / 2 > bytes;
}

/*
 * Maps n buffers, not touched yet: on the node, if the system permits and the node has room, or,
 * with os_node -1, on the node of the first touch. -ENOMEM; they are closed then.
 */
static int host_buffers_open(struct host_buffers *buffers, unsigned n, size_t bytes, int os_node,
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

/* The same for memory that the caller has mapped and unmaps: whole pages, not touched yet. */
static int host_buffers_borrow(struct host_buffers *buffers, unsigned n, size_t bytes,
                               float *const *at, int os_node, struct err *err)
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

/* The share of all pages on the node, 0..1; NaN = no node, or unknown. */
static double host_buffers_share(const struct host_buffers *buffers)
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

static void host_buffers_close(struct host_buffers *buffers)
{
    for (unsigned i = 0; i < buffers->n && !buffers->borrowed; i++)
        memory_unmap(&buffers->block[i]);
    free(buffers->block);
    *buffers = (struct host_buffers){0};
}

static const struct device_ops *const kinds[DEVICE_COUNT] = {
    [DEVICE_SIM] = &device_sim_ops,
    [DEVICE_CUDA] = &device_cuda_ops,
};

/* NULL if this kind cannot be fed. */
static const struct device_ops *device_ops_of(enum device kind)
{
    return kinds[kind];
}

int device_probe(enum device kind, struct err *err)
{
    if (!kinds[kind])
        return err_set(err, -ENOTSUP, "needs a device: sim or cuda");
    return kinds[kind]->probe ? kinds[kind]->probe(err) : 0;
}

static int open_host(struct device_queue *queue, const struct device_config *config,
                     struct err *err)
{
    size_t bytes = config->rows * config->cols * sizeof(float);
    if (config->host)
        return host_buffers_borrow(&queue->host, config->slots, bytes, config->host,
                                   config->os_node, err);
    return host_buffers_open(&queue->host, config->slots, bytes, config->os_node, err);
}

int device_open(struct device_queue *queue, const struct device_config *config, struct err *err)
{
    *queue = (struct device_queue){0};
    int rc = device_probe(config->kind, err);
    if (!rc)
        rc = open_host(queue, config, err);
    if (!rc)
        rc = kinds[config->kind]->open(queue, config, err);
    if (!rc)
        queue->ops = kinds[config->kind];
    else
        host_buffers_close(&queue->host);
    return rc;
}

float *device_host_buffer(struct device_queue *queue, unsigned slot)
{
    return host_buffers_at(&queue->host, slot);
}

double device_host_share(const struct device_queue *queue)
{
    return host_buffers_share(&queue->host);
}

int device_submit(struct device_queue *queue, unsigned slot, struct err *err)
{
    return queue->ops->submit(queue, slot, err);
}

int device_wait(struct device_queue *queue, unsigned slot, struct device_took *took,
                struct err *err)
{
    return queue->ops->wait(queue, slot, took, err);
}

struct device_sleep device_slept(const struct device_queue *queue)
{
    return queue->ops->slept ? queue->ops->slept(queue) : (struct device_sleep){0};
}

bool device_computes(const struct device_queue *queue)
{
    return queue->ops->read != NULL;
}

int device_poison(struct device_queue *queue, struct err *err)
{
    return queue->ops->poison(queue, err);
}

int device_read(struct device_queue *queue, size_t first, size_t count, float *rows,
                struct err *err)
{
    return queue->ops->read(queue, first, count, rows, err);
}

int device_read_prep(struct device_queue *queue, const struct prep_gpu_arrays *arrays,
                     struct err *err)
{
    return queue->ops->read_prep(queue, arrays, err);
}

void device_peak(const struct device_queue *queue, double *flops, double *bytes)
{
    *flops = *bytes = 0;
    if (queue->ops->peak)
        queue->ops->peak(queue, flops, bytes);
}

void device_close(struct device_queue *queue)
{
    if (queue->ops)
        queue->ops->close(queue);
    host_buffers_close(&queue->host);
    *queue = (struct device_queue){0};
}

static const struct reduce_ops *ops_of(enum device kind)
{
    const struct device_ops *device = device_ops_of(kind);
    return device ? device->reduce : NULL;
}

int reduce_probe(const struct bench_ctx *ctx)
{
    const struct reduce_ops *ops = ops_of(ctx->device);
    if (!ops)
        return err_set(ctx->err, -ENOTSUP, "needs a device: sim or cuda");
    return ops->probe ? ops->probe(ctx) : 0;
}

int reduce_open(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx)
{
    *reduce = (struct reduce){.ops = ops_of(config->kind),
                              .peers = ctx->peers,
                              .calls = config->calls,
                              .ncalls = config->ncalls};
    int rc = reduce->ops->open(reduce, config, ctx);
    if (rc)
        reduce_close(reduce);
    return rc;
}

int reduce_start(struct reduce *reduce, uint64_t *arrived_ns, struct err *err)
{
    return reduce->ops->start(reduce, arrived_ns, err);
}

int reduce_finish(struct reduce *reduce, struct err *err)
{
    return reduce->ops->finish(reduce, err);
}

int reduce_check(struct reduce *reduce, struct err *err)
{
    return reduce->ops->check ? reduce->ops->check(reduce, err) : 0;
}

void reduce_close(struct reduce *reduce)
{
    if (reduce->ops)
        reduce->ops->close(reduce);
    *reduce = (struct reduce){0};
}

#include "bench/device/device.h"

#include <errno.h>

static const struct device_ops *const kinds[DEVICE_COUNT] = {
    [DEVICE_SIM] = &device_sim_ops,
    [DEVICE_CUDA] = &device_cuda_ops,
};

const struct device_ops *device_ops_of(enum device kind)
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

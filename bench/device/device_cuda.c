/* A real GPU behind device.h: kernels/gpu/gpu_step.h with the harness's errors. */
#include "bench/device/device.h"
#include "bench/device/reduce.h"

#include <errno.h>

#ifdef CONTEND_HAVE_CUDA

#include <stdlib.h>

#include "bench/gpu/gpu.h"
#include "kernels/gpu/gpu_common.h"
#include "kernels/gpu/gpu_step.h"

static int cuda_probe(struct err *err)
{
    char msg[200] = "";
    return gpu_count(msg, sizeof(msg)) > 0 ? 0 : err_set(err, -ENOTSUP, "%s", msg);
}

static int cuda_open(struct device_queue *queue, const struct device_config *config,
                     struct err *err)
{
    char msg[200] = "";
    struct gpu_step *gpu = NULL;
    float **host = calloc(config->slots, sizeof(float *));
    if (!host)
        return err_set(err, -ENOMEM, "no memory for %u slots", config->slots);
    for (unsigned s = 0; s < config->slots; s++)
        host[s] = host_buffers_at(&queue->host, s);
    const struct gpu_step_config step = {
        .pci_bdf = config->pci_bdf,
        .rows = config->rows,
        .cols = config->cols,
        .slots = config->slots,
        .work = config->work,
        .pinned = config->pinned,
        .spin = config->spin,
        .host = host,
    };
    int rc = gpu_error(gpu_step_open(&step, &gpu, msg, sizeof(msg)), msg, err);
    free((void *)host);
    queue->impl = gpu;
    return rc;
}

static int cuda_submit(struct device_queue *queue, unsigned slot, struct err *err)
{
    char msg[200] = "";
    return gpu_error(gpu_step_submit(queue->impl, slot, msg, sizeof(msg)), msg, err);
}

static int cuda_wait(struct device_queue *queue, unsigned slot, uint64_t *busy_ns, struct err *err)
{
    char msg[200] = "";
    return gpu_error(gpu_step_wait(queue->impl, slot, busy_ns, msg, sizeof(msg)), msg, err);
}

static int cuda_poison(struct device_queue *queue, struct err *err)
{
    char msg[200] = "";
    return gpu_error(gpu_step_poison(queue->impl, msg, sizeof(msg)), msg, err);
}

static int cuda_read(struct device_queue *queue, size_t first, size_t count, float *rows,
                     struct err *err)
{
    char msg[200] = "";
    return gpu_error(gpu_step_read(queue->impl, first, count, rows, msg, sizeof(msg)), msg, err);
}

static void cuda_close(struct device_queue *queue)
{
    gpu_step_close(queue->impl);
}

const struct device_ops device_cuda_ops = {
    .probe = cuda_probe,
    .open = cuda_open,
    .submit = cuda_submit,
    .wait = cuda_wait,
    .poison = cuda_poison,
    .read = cuda_read,
    .close = cuda_close,
    .reduce = &reduce_cuda_ops,
};

#else

static int cuda_absent(struct err *err)
{
    return err_set(err, -ENOTSUP, "device cuda: this program was built without CUDA");
}

const struct device_ops device_cuda_ops = {.probe = cuda_absent, .reduce = &reduce_cuda_ops};

#endif

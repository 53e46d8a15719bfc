/* A real GPU for device.h: kernels/gpu/gpu_step.h with the harness's errors. */
#include "bench/device/device.h"

#include <errno.h>

#ifdef CONTEND_HAVE_CUDA

#include <stdlib.h>

#include "bench/gpu/gpu.h"
#include "kernels/gpu/gpu_common.h"
#include "kernels/gpu/gpu_step.h"

static int cuda_probe(struct err *err)
{
    return gpu_count(err) > 0 ? 0 : -ENOTSUP;
}

struct cuda_device {
    struct gpu_step *gpu;
    const char *name;
};

static int cuda_open(struct device_queue *queue, const struct device_config *config,
                     struct err *err)
{
    struct cuda_device *device = calloc(1, sizeof(*device));
    float **host = calloc(config->slots, sizeof(float *));
    int rc = device && host ? 0 : err_set(err, -ENOMEM, "no memory for %u slots", config->slots);
    for (unsigned s = 0; s < config->slots && !rc; s++)
        host[s] = host_buffers_at(&queue->host, s);
    const struct gpu_step_config step = {
        .pci_bdf = config->pci_bdf,
        .rows = config->rows,
        .cols = config->cols,
        .slots = config->slots,
        .work = config->work,
        .pinned = config->pinned,
        .spin = config->spin,
        .in_order = config->in_order,
        .prep = config->prep,
        .host = host,
    };
    if (!rc) {
        device->name = gpu_name(config->machine, config->pci_bdf);
        rc = gpu_error_of(gpu_step_open(&step, &device->gpu, err), device->name, err);
    }
    free((void *)host);
    if (rc)
        free(device);
    else
        queue->impl = device;
    return rc;
}

static int cuda_submit(struct device_queue *queue, unsigned slot, struct err *err)
{
    const struct cuda_device *device = queue->impl;
    return gpu_error_of(gpu_step_submit(device->gpu, slot, err), device->name, err);
}

static int cuda_wait(struct device_queue *queue, unsigned slot, struct device_took *took,
                     struct err *err)
{
    const struct cuda_device *device = queue->impl;
    struct gpu_step_took gpu = {0};
    int rc = gpu_error_of(gpu_step_wait(device->gpu, slot, &gpu, err), device->name, err);
    *took = (struct device_took){
        .copy_ns = gpu.copy_ns, .prep_ns = gpu.prep_ns, .work_ns = gpu.work_ns};
    return rc;
}

static int cuda_poison(struct device_queue *queue, struct err *err)
{
    const struct cuda_device *device = queue->impl;
    return gpu_error_of(gpu_step_poison(device->gpu, err), device->name, err);
}

static int cuda_read(struct device_queue *queue, size_t first, size_t count, float *rows,
                     struct err *err)
{
    const struct cuda_device *device = queue->impl;
    return gpu_error_of(gpu_step_read(device->gpu, first, count, rows, err), device->name, err);
}

static int cuda_read_prep(struct device_queue *queue, const struct prep_gpu_arrays *arrays,
                          struct err *err)
{
    const struct cuda_device *device = queue->impl;
    return gpu_error_of(gpu_step_read_prep(device->gpu, arrays, err), device->name, err);
}

static void cuda_peak(const struct device_queue *queue, double *flops, double *bytes)
{
    const struct cuda_device *device = queue->impl;
    gpu_step_peak(device->gpu, flops, bytes);
}

static void cuda_close(struct device_queue *queue)
{
    struct cuda_device *device = queue->impl;
    gpu_step_close(device->gpu);
    free(device);
}

const struct device_ops device_cuda_ops = {
    .probe = cuda_probe,
    .open = cuda_open,
    .submit = cuda_submit,
    .wait = cuda_wait,
    .poison = cuda_poison,
    .read = cuda_read,
    .read_prep = cuda_read_prep,
    .peak = cuda_peak,
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

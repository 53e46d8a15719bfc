#include "bench/device/reduce.h"

#include <errno.h>

#include "bench/device/device.h"

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

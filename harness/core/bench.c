#include "harness/core/bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum device bench_device(const struct bench *bench, enum device device, enum device transport)
{
    if (bench->needs & NEED_GPU)
        return DEVICE_CUDA;
    if (bench->needs & NEED_COLLECTIVE)
        return transport;
    return bench->needs & NEED_DEVICE ? device : DEVICE_NONE;
}

const struct bench *bench_find(const struct bench *const *benches, const char *name)
{
    for (; *benches; benches++)
        if (strcmp((*benches)->name, name) == 0)
            return *benches;
    return NULL;
}

const struct bench_metric *bench_metric_find(const struct bench *bench, const char *name)
{
    for (const struct bench_metric *metric = bench->metrics; metric && metric->name; metric++)
        if (strcmp(metric->name, name) == 0)
            return metric;
    return NULL;
}

const struct bench_metric *bench_kept(const struct bench *bench)
{
    for (const struct bench_metric *metric = bench->metrics; metric && metric->name; metric++)
        if (metric->kept)
            return metric;
    return NULL;
}

void bench_library(const struct bench_ctx *ctx, const char *name, const char *version)
{
    if (ctx->library)
        (void)snprintf(ctx->library, BENCH_LIBRARY_MAX, "%.15s %.31s", name, version);
}

int bench_emit(struct bench_ctx *ctx, unsigned metric, double value, const char *key_fmt, ...)
{
    struct value_log *log = ctx->values;
    if (log->n == VALUES_MAX)
        return err_set(ctx->err, -ENOSPC, "more than %d values in one scan", VALUES_MAX);
    struct value *entry = &log->value[log->n];
    va_list ap;
    va_start(ap, key_fmt);
    int length = vsnprintf(entry->key, sizeof(entry->key), key_fmt, ap);
    va_end(ap);
    if (length < 0 || (size_t)length >= sizeof(entry->key))
        return err_set(ctx->err, -ENAMETOOLONG, "key '%s...' of a value is too long", entry->key);
    entry->metric = metric;
    entry->value = value;
    log->n++;
    return 0;
}

#include "harness/core/bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *device_name(enum device device)
{
    static const char *const names[] = {"none", "sim", "cuda"};
    return names[device];
}

const struct bench *bench_find(const struct bench *const *benches, const char *name)
{
    for (; *benches; benches++)
        if (strcmp((*benches)->name, name) == 0)
            return *benches;
    return NULL;
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

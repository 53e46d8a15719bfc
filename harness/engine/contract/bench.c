#include "harness/engine/contract/bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/text.h"

/*
 * Threads share these arrays. Parts this far apart are never in two cache lines that move together
 * (adjacent-line prefetch).
 */
enum { BLOCK_ALIGN = 128 };

struct bench_block {
    struct bench_block *next;
    void (*close)(void *what); /* NULL: there is nothing to close */
    void *what;
};

/* calloc does not touch the pages of a large array: the first thread that uses a page places it. */
void *bench_array(struct bench_ctx *ctx, size_t n, size_t item_bytes)
{
    size_t bytes = 0, all = 0;
    struct bench_block *block = NULL;
    if (!__builtin_mul_overflow(n, item_bytes, &bytes) &&
        !__builtin_add_overflow(bytes, sizeof(*block) + BLOCK_ALIGN, &all))
        block = calloc(1, all);
    if (!block) {
        (void)err_set(ctx->err, -ENOMEM, "cannot allocate %zu times %zu bytes", n, item_bytes);
        return NULL;
    }
    block->next = ctx->blocks;
    ctx->blocks = block;
    uintptr_t begin = (uintptr_t)(block + 1);
    return (char *)block + sizeof(*block) + (BLOCK_ALIGN - begin % BLOCK_ALIGN) % BLOCK_ALIGN;
}

int bench_at_close(struct bench_ctx *ctx, void (*close)(void *what), void *what)
{
    if (!bench_array(ctx, 0, 1)) {
        close(what);
        return -ENOMEM;
    }
    ctx->blocks->close = close;
    ctx->blocks->what = what;
    return 0;
}

int bench_open(const struct bench *bench, struct bench_ctx *ctx)
{
    if (bench->state_size)
        ctx->state = bench_array(ctx, 1, bench->state_size);
    if (bench->state_size && !ctx->state)
        return -ENOMEM;
    return bench->setup ? bench->setup(ctx) : 0;
}

void bench_close(const struct bench *bench, struct bench_ctx *ctx)
{
    if (bench->teardown && (ctx->state || !bench->state_size))
        bench->teardown(ctx);
    while (ctx->blocks) {
        struct bench_block *next = ctx->blocks->next;
        if (ctx->blocks->close)
            ctx->blocks->close(ctx->blocks->what);
        free(ctx->blocks);
        ctx->blocks = next;
    }
    ctx->state = NULL;
    ctx->buffer = NULL;
    ctx->buffer_bytes = 0;
}

enum device bench_device(const struct bench *bench, enum device device, enum device transport)
{
    if (bench->needs & NEED_GPU)
        return DEVICE_CUDA;
    if (bench->needs & NEED_COLLECTIVE)
        return transport;
    return bench->needs & NEED_DEVICE ? device : DEVICE_NONE;
}

const char *bench_rate_unit(const struct bench *bench)
{
    if (bench->rate_unit)
        return str_fmt("%s", bench->rate_unit);
    return str_fmt("%.28s%s", bench->scan ? "" : bench->ops_unit, bench->scan ? "" : "/s");
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

const struct bench_metric *bench_retention_metric(const struct bench *bench)
{
    for (const struct bench_metric *metric = bench->metrics; metric && metric->name; metric++)
        if (metric->retention)
            return metric;
    return NULL;
}

void bench_library(const struct bench_ctx *ctx, const char *name, const char *version)
{
    if (ctx->library)
        (void)snprintf(ctx->library, BENCH_LIBRARY_MAX, "%.15s %.31s", name, version);
}

static void add_value(struct value_log *log, const struct value *value)
{
    if (log->n < VALUES_MAX)
        log->value[log->n++] = *value;
    else
        log->lost++;
}

void bench_emit(struct bench_ctx *ctx, unsigned metric, double value, struct dims at)
{
    bench_emit_doubt(ctx, metric, value, "", at);
}

/* Returns 1 + the index of the reason; if the log has no room for it, that of the last reason. */
static uint32_t add_reason(struct value_log *log, const struct err *why)
{
    for (uint32_t i = 0; i < log->nreasons; i++)
        if (log->reason[i].code == why->code && strcmp(log->reason[i].msg, why->msg) == 0)
            return i + 1;
    if (log->nreasons < VALUE_REASONS_MAX)
        log->reason[log->nreasons++] = *why;
    return log->nreasons;
}

bool bench_emit_absent(struct bench_ctx *ctx, unsigned metric, const struct err *why,
                       struct dims at)
{
    if (why->code)
        add_value(ctx->values, &(struct value){.value = NAN,
                                               .metric = metric,
                                               .reason = add_reason(ctx->values, why),
                                               .dims = at});
    return why->code != 0;
}

void bench_emit_doubt(struct bench_ctx *ctx, unsigned metric, double value, const char *why,
                      struct dims at)
{
    struct err doubt = {0};
    if (isnan(value))
        return;
    (void)snprintf(doubt.msg, sizeof(doubt.msg), "%s", why);
    add_value(ctx->values, &(struct value){.value = value,
                                           .metric = metric,
                                           .reason = why[0] ? add_reason(ctx->values, &doubt) : 0,
                                           .dims = at});
}

#include "bench/common/points.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/random.h"

/* Entries begin..end-1 of the log of values. */
struct part {
    uint32_t begin, end;
};

/* Sorts the values from `begin` on, which the parts divide up, into the order of the parts. */
static int put_in_order(struct value_log *log, uint32_t begin, const struct part *parts, size_t n,
                        struct err *err)
{
    size_t count = log->n - begin;
    struct value *ordered = calloc(count + 1, sizeof(*ordered)), *next = ordered;
    if (!ordered)
        return err_set(err, -ENOMEM, "cannot allocate %zu values", count);
    for (size_t i = 0; i < n; i++)
        for (uint32_t at = parts[i].begin; at < parts[i].end; at++)
            *next++ = log->value[at];
    memcpy(log->value + begin, ordered, count * sizeof(*ordered));
    free(ordered);
    return 0;
}

/* Each point has two parts: what it measured, then what it concluded. */
int points_run(struct bench_ctx *ctx, size_t n, int (*measure)(struct bench_ctx *ctx, size_t point),
               void (*conclude)(struct bench_ctx *ctx, size_t point))
{
    struct value_log *log = ctx->values;
    uint32_t begin = log->n;
    size_t *order = calloc(n + 1, sizeof(*order));
    struct part *parts = calloc(2 * n + 1, sizeof(*parts));
    int rc = order && parts ? 0 : err_set(ctx->err, -ENOMEM, "cannot allocate %zu points", n);
    if (!rc)
        random_shuffle(ctx->round_seed, n, order);
    for (size_t i = 0; i < n && !rc; i++) {
        struct part *part = &parts[2 * order[i]];
        part->begin = log->n;
        rc = measure(ctx, order[i]);
        part->end = log->n;
    }
    for (size_t point = 0; point < n && !rc && conclude; point++) {
        struct part *part = &parts[2 * point + 1];
        part->begin = log->n;
        conclude(ctx, point);
        part->end = log->n;
    }
    if (!rc)
        rc = put_in_order(log, begin, parts, 2 * n, ctx->err);
    free(parts);
    free(order);
    return rc;
}

double points_value(const struct bench_ctx *ctx, unsigned metric, struct dims at)
{
    const struct value_log *log = ctx->values;
    for (uint32_t i = 0; i < log->n; i++)
        if (log->value[i].metric == metric && !dims_compare(&log->value[i].dims, &at))
            return log->value[i].value;
    return NAN;
}

uint64_t points_share_ns(const struct bench_ctx *ctx, size_t n, uint64_t least_ns)
{
    double ns = ctx->budget_s * 1e9 / (double)(n ? n : 1);
    return ns > (double)least_ns ? (uint64_t)ns : least_ns;
}

size_t counts_doubled(unsigned most, unsigned *counts, size_t n)
{
    size_t filled = 0;
    for (unsigned count = 1; count < most && filled + 1 < n; count *= 2)
        counts[filled++] = count;
    counts[filled++] = most;
    return filled;
}

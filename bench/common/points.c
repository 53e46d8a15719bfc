#include "bench/common/points.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/proc.h"

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

void points_emit_least(struct bench_ctx *ctx, unsigned least, unsigned metric,
                       const struct dims *at, unsigned dim)
{
    const struct dims others = dims_without(at, dim);
    const struct value_log *log = ctx->values;
    double best = 0, position = NAN;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < log->n; i++) {
            const struct value *value = &log->value[i];
            if (value->metric != metric || !dims_agree(&value->dims, &others))
                continue;
            if (!pass)
                best = fmax(best, value->value);
            else if (value->value >= 0.95 * best)
                position = fmin(position, dims_only(&value->dims, dim).of[0].at);
        }
    bench_emit(ctx, least, position, others);
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

double times_percentile(const struct times *times, double fraction)
{
    uint64_t n = 0, below = 0;
    for (unsigned i = 0; i < TIMES_BINS; i++)
        n += times->bins[i];
    for (unsigned i = 0; i < TIMES_BINS; i++) {
        unsigned shift = i < 64 ? 0 : i / 32 - 1;
        below += times->bins[i];
        if (below && (double)below >= fraction * (double)n)
            return ldexp(i - 32.0 * shift + (shift ? 0.5 : 0), (int)shift);
    }
    return NAN;
}

enum { SETTLE_SHARE = 3 };

/* The time of a rank's arrival, and the clock it is from. */
struct arrival {
    uint64_t now_ns;
    char clock[CLOCKS_ID];
};

/* A rank with another clock than rank 0 begins when all ranks have arrived. */
int slice_begin(struct slice *slice, const struct bench_ctx *ctx, double share_s)
{
    struct arrival mine;
    uint64_t share_ns = (uint64_t)(share_s * 1e9);
    struct arrival *all = calloc(ctx->peers->size, sizeof(*all));
    if (!all)
        return err_set(ctx->err, -ENOMEM, "no memory for %u workers", ctx->peers->size);
    clocks_id(mine.clock);
    mine.now_ns = clock_now_ns();
    int rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    uint64_t begin_ns = strcmp(all[0].clock, mine.clock) == 0 ? all[0].now_ns : clock_now_ns();
    *slice = (struct slice){begin_ns + share_ns / SETTLE_SHARE, begin_ns + share_ns};
    free(all);
    return rc;
}

double slice_part(const struct slice *slice, uint64_t start_ns, uint64_t done_ns)
{
    uint64_t from_ns = start_ns > slice->begin_ns ? start_ns : slice->begin_ns;
    uint64_t to_ns = done_ns < slice->end_ns ? done_ns : slice->end_ns;
    return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)(done_ns - start_ns) : 0;
}

double slice_seconds(const struct slice *slice)
{
    return 1e-9 * (double)(slice->end_ns - slice->begin_ns);
}

static char boot_id[CLOCKS_ID];

static void read_boot_id(void)
{
    (void)PROC_TEXT("", boot_id, "/proc/sys/kernel/random/boot_id");
}

void clocks_id(char id[static CLOCKS_ID])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT; /* each slice asks; the id stays the same */
    (void)pthread_once(&once, read_boot_id);
    memcpy(id, boot_id, CLOCKS_ID);
}

int clocks_ask(const struct bench_ctx *ctx, bool *is_one)
{
    unsigned n = ctx->peers->size;
    char mine[CLOCKS_ID], (*all)[CLOCKS_ID] = calloc(n, sizeof(*all));
    if (!all)
        return err_set(ctx->err, -ENOMEM, "no memory for %u ranks", n);
    clocks_id(mine);
    int rc = peers_gather(ctx->peers, mine, all, sizeof(mine), ctx->err);
    *is_one = true;
    for (unsigned r = 1; r < n && !rc; r++)
        *is_one = *is_one && strcmp(all[r], all[0]) == 0;
    free(all);
    return rc;
}

#include "bench/pairs.h"

#include <errno.h>
#include <math.h>

#include "kernels/mix64.h"

size_t pairs_count(unsigned n)
{
    return (size_t)n * (n - 1) / 2;
}

size_t pairs_index(unsigned n, unsigned a, unsigned b)
{
    size_t low = a < b ? a : b, high = a < b ? b : a;
    return low * n - low * (low + 1) / 2 + high - low - 1;
}

unsigned pairs_slots(unsigned n)
{
    return n % 2 ? n : n - 1;
}

/*
 * With m = n rounded up to an even number, seats 0..m-2 are a circle: in slot s, i meets the j with
 * i + j = s (mod m - 1), and who would meet himself meets m - 1, who stays.
 */
int pairs_opponent(unsigned n, unsigned slot, unsigned player)
{
    unsigned circle = pairs_slots(n), last = circle, opponent;
    if (player == last)
        /* 2 i = slot (mod circle), and the inverse of 2 is (circle + 1) / 2. */
        opponent = (unsigned)((uint64_t)slot * ((circle + 1) / 2) % circle);
    else if ((opponent = (slot + circle - player) % circle) == player)
        opponent = last;
    return opponent < n ? (int)opponent : -1;
}

/* At least 8, so that few CPUs also get runs alone. */
unsigned pairs_columns(unsigned n)
{
    unsigned columns = 8;
    while (columns < n)
        columns *= 2;
    return columns;
}

unsigned pairs_runs(unsigned n)
{
    return 2 * (pairs_columns(n) - 1);
}

bool pairs_busy(unsigned n, unsigned run, unsigned column)
{
    unsigned rows = pairs_columns(n) - 1, row = 1 + run % rows;
    bool negative = __builtin_popcount(row & column) % 2;
    return negative != (run >= rows);
}

void pairs_shuffle(unsigned *order, unsigned n, uint64_t seed)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = (unsigned)(mix64(seed + i) % (i + 1));
        order[i] = order[at];
        order[at] = i;
    }
}

int pairs_probe(const struct bench_ctx *ctx, unsigned metrics)
{
    unsigned n = ctx->machine->ncpus;
    if (n < 2)
        return err_set(ctx->err, -ENOTSUP, "needs at least two CPUs, and may use only one");
    if (pairs_count(n) > (VALUES_MAX - 1) / metrics)
        return err_set(ctx->err, -ENOTSUP, "%u CPUs have %zu pairs, room is for %u", n,
                       pairs_count(n), (VALUES_MAX - 1) / metrics);
    return 0;
}

int pairs_emit(struct bench_ctx *ctx, unsigned metric, unsigned a, unsigned b, double value)
{
    unsigned x = ctx->machine->cpus[a].os_cpu, y = ctx->machine->cpus[b].os_cpu;
    if (isnan(value))
        return 0;
    return bench_emit(ctx, metric, value, "a=%u;b=%u", x < y ? x : y, x < y ? y : x);
}

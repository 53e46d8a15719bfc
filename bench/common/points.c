#include "bench/common/points.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/lib/stats/random.h"

int points_run(struct bench_ctx *ctx, size_t n, int (*measure)(struct bench_ctx *ctx, size_t point),
               void (*emit)(struct bench_ctx *ctx, size_t point))
{
    size_t *order = calloc(n ? n : 1, sizeof(*order));
    int rc = 0;
    if (!order)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the order of %zu points", n);
    random_shuffle(ctx->round_seed, n, order);
    for (size_t i = 0; i < n && !rc; i++)
        rc = measure(ctx, order[i]);
    free(order);
    for (size_t point = 0; point < n && !rc; point++)
        emit(ctx, point);
    return rc;
}

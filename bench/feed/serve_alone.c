#include "bench/feed/serve_alone.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/feed/serve_point.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/clock.h"

enum {
    ALONE_SLICES = 5, /* of the closed loop */
    ALONE_LEAST = 3,  /* requests of one */
};
static const uint64_t alone_slice_ns = 40000000;

/* The best slice: what others did to the machine in the rest of them is not the worker's. */
static int measure_closed_loop(struct feed *feed, const struct bench_ctx *ctx, double *rate)
{
    int rc = 0;
    for (unsigned slice = 0; slice <= ALONE_SLICES && !rc; slice++) { /* the first is warm-up */
        uint64_t start_ns = clock_now_ns(), end_ns = start_ns;
        unsigned n = 0;
        while (!rc && (n < ALONE_LEAST || end_ns - start_ns < alone_slice_ns)) {
            rc = serve_request(feed, ctx);
            end_ns = clock_now_ns();
            n++;
        }
        if (slice)
            *rate = fmax(*rate, 1e9 * n / (double)(end_ns - start_ns));
    }
    return rc;
}

/*
 * A worker's share of all CPUs, the same for each placement: bound or not, the process that started
 * it is neither.
 */
static unsigned share_of_cpus(const struct bench_ctx *ctx, unsigned behind)
{
    struct bitset all;
    if (affinity_get(getppid(), &all))
        return ctx->threads;
    unsigned share = bitset_count(&all) / (ctx->peers->size + behind);
    share = share < ctx->threads ? share : ctx->threads;
    return share ? share : 1;
}

/* Sends all workers the rate that worker 0 found. */
static int tell_all(const struct bench_ctx *ctx, double mine, double *found)
{
    double *all = calloc(ctx->peers->size, sizeof(*all));
    if (!all)
        return err_set(ctx->err, -ENOMEM, "no memory for %u workers", ctx->peers->size);
    int rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    *found = all[0];
    free(all);
    return rc;
}

int serve_alone(struct feed *feed, const struct bench_ctx *ctx, unsigned behind, double *rate)
{
    struct prep_params *prep = &feed->batches.prep;
    unsigned *least_team = prep->least_team;
    double mine = 0;
    int rc = 0;
    if (ctx->peers->rank == 0) {
        prep->threads = share_of_cpus(ctx, behind);
        prep->least_team = NULL; /* smaller on purpose */
        rc = measure_closed_loop(feed, ctx, &mine);
        prep->threads = ctx->threads;
        prep->least_team = least_team;
    }
    return rc ? rc : tell_all(ctx, mine, rate);
}

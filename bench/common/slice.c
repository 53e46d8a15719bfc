#include "bench/common/slice.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/sys/clock.h"

enum { SETTLE_SHARE = 3 };

int slice_begin(struct slice *slice, const struct bench_ctx *ctx, double share_s)
{
    uint64_t mine = clock_now_ns(), share_ns = (uint64_t)(share_s * 1e9);
    uint64_t *all = calloc(ctx->peers->size, sizeof(*all));
    if (!all)
        return err_set(ctx->err, -ENOMEM, "no memory for %u workers", ctx->peers->size);
    int rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    *slice = (struct slice){all[0] + share_ns / SETTLE_SHARE, all[0] + share_ns};
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

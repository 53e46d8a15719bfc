#include "bench/common/slice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/clocks.h"
#include "harness/lib/sys/clock.h"

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

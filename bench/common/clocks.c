#include "bench/common/clocks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/sys/proc.h"

void clocks_id(char id[static CLOCKS_ID])
{
    memset(id, 0, CLOCKS_ID);
    (void)proc_read_text("", "/proc/sys/kernel/random/boot_id", id, CLOCKS_ID);
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

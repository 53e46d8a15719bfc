#include "bench/common/clocks.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/sys/proc.h"

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

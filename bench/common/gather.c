#include "bench/common/gather.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = PEERS_BLOCK_MAX / (int)sizeof(double) };

struct gathering {
    struct peers *peers;
    double *chunks; /* CHUNK per worker, then this worker's own */
    size_t *counts; /* of each worker */
    size_t most, total;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int open_gathering(struct gathering *g, const struct bench_ctx *ctx)
{
    unsigned size = ctx->peers->size;
    *g = (struct gathering){
        .peers = ctx->peers,
        .chunks = calloc((size_t)(size + 1) * CHUNK, sizeof(*g->chunks)),
        .counts = calloc(size, sizeof(*g->counts)),
    };
    return g->chunks && g->counts ? 0
                                  : err_set(ctx->err, -ENOMEM, "no memory for %u workers", size);
}

static void close_gathering(struct gathering *g)
{
    free(g->counts);
    free(g->chunks);
}

static int gather_counts(struct gathering *g, size_t n, struct err *err)
{
    int rc = peers_gather(g->peers, &n, g->counts, sizeof(n), err);
    for (unsigned r = 0; !rc && r < g->peers->size; r++) {
        g->most = g->counts[r] > g->most ? g->counts[r] : g->most;
        g->total += g->counts[r];
    }
    return rc;
}

/* Copies each worker's chunk at `from` to its place in all, which may be NULL. */
static void put_chunk(const struct gathering *g, size_t from, double *all)
{
    size_t at = 0;
    for (unsigned r = 0; all && r < g->peers->size; at += g->counts[r++])
        if (from < g->counts[r])
            memcpy(all + at + from, g->chunks + (size_t)r * CHUNK,
                   least(g->counts[r] - from, CHUNK) * sizeof(*all));
}

static int gather_chunks(struct gathering *g, const double *mine, size_t n, double *all,
                         struct err *err)
{
    double *own = g->chunks + (size_t)g->peers->size * CHUNK;
    int rc = 0;
    for (size_t from = 0; from < g->most && !rc; from += CHUNK) {
        if (from < n)
            memcpy(own, mine + from, least(n - from, CHUNK) * sizeof(*own));
        rc = peers_gather(g->peers, own, g->chunks, CHUNK * sizeof(*own), err);
        if (!rc)
            put_chunk(g, from, all);
    }
    return rc;
}

int gather_numbers(const struct bench_ctx *ctx, const double *mine, size_t n, double **all,
                   size_t *total)
{
    struct gathering g;
    *all = NULL;
    *total = 0;
    int rc = open_gathering(&g, ctx);
    if (!rc)
        rc = gather_counts(&g, n, ctx->err);
    if (!rc && ctx->peers->rank == 0) {
        *total = g.total;
        *all = malloc((g.total + 1) * sizeof(**all));
        rc = *all ? 0 : err_set(ctx->err, -ENOMEM, "no memory for %zu numbers", g.total);
    }
    if (!rc)
        rc = gather_chunks(&g, mine, n, *all, ctx->err);
    close_gathering(&g);
    return rc;
}

int gather_sum(const struct bench_ctx *ctx, double *mine)
{
    double *all, sum = 0;
    size_t n;
    int rc = gather_numbers(ctx, mine, 1, &all, &n);
    for (size_t i = 0; i < n; i++)
        sum += all[i];
    *mine = sum;
    free(all);
    return rc;
}

#include "bench/collective/collective_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/stats.h"

size_t collective_range_count(const struct collective_range *range)
{
    size_t n = 1;
    for (uint64_t size = range->begin; size <= range->end / range->factor; size *= range->factor)
        n++;
    return n;
}

bool collective_fit(struct collective_call *call, uint64_t size, unsigned ranks)
{
    enum { PART_BYTES = 16 };
    uint64_t bytes = collective_type_bytes(call->type), count = size / bytes;
    bool has_parts = collective_has_parts(call->op);
    if (has_parts)
        count = count / ranks & ~(PART_BYTES / bytes - 1);
    call->count = count;
    call->bytes = count * bytes * (has_parts ? ranks : 1);
    return count > 0;
}

double collective_bus_factor(enum collective_op op, unsigned ranks)
{
    double share = (double)(ranks - 1) / ranks;
    if (op == COLLECTIVE_ALLREDUCE)
        return 2 * share;
    return collective_has_parts(op) ? share : 1;
}

uint64_t collective_iters(double share_s, double took_s, uint64_t done, unsigned batch,
                          uint64_t most)
{
    double want = took_s > 0 ? share_s / took_s * (double)done : (double)most;
    double capped = fmin(want, (double)most);
    uint64_t batches = capped >= 1 ? (uint64_t)capped / batch : 0;
    return (batches ? batches : 1) * batch;
}

struct collective_spread collective_spread_of(const struct collective_time *times, unsigned ranks,
                                              unsigned iters, double *scratch)
{
    for (unsigned i = 0; i < iters; i++) {
        scratch[i] = 0;
        for (unsigned rank = 0; rank < ranks; rank++)
            scratch[i] = fmax(scratch[i], (double)times[(size_t)rank * iters + i].period_us);
    }
    double median_us = stats_sort_median(scratch, iters); /* sorts scratch */
    return (struct collective_spread){.p50_us = median_us,
                                      .p99_us = stats_nearest_rank(scratch, iters, 99),
                                      .max_us = scratch[iters - 1]};
}

/* True if every rank waits for all others: the rank that comes last is then busy the shortest. */
static bool collective_names_last(enum collective_op op)
{
    return op == COLLECTIVE_ALLREDUCE || op == COLLECTIVE_ALLGATHER ||
           op == COLLECTIVE_REDUCESCATTER || op == COLLECTIVE_ALLTOALL;
}

void collective_find_lateness(const struct collective_time *times, unsigned ranks, unsigned iters,
                              struct collective_lateness *lateness)
{
    const double least_us = 0.5, least_share = 0.1;
    for (unsigned rank = 0; rank < ranks; rank++)
        lateness[rank] = (struct collective_lateness){.rank = rank};
    for (unsigned i = 0; i < iters; i++) {
        unsigned last = 0;
        double shortest = INFINITY, next = INFINITY;
        for (unsigned rank = 0; rank < ranks; rank++) {
            double busy = (double)times[(size_t)rank * iters + i].busy_us;
            if (busy < shortest) {
                next = shortest;
                shortest = busy;
                last = rank;
            } else {
                next = fmin(next, busy);
            }
        }
        if (next - shortest > fmax(least_us, least_share * next))
            lateness[last].last_share += 1.0 / iters;
        for (unsigned rank = 0; rank < ranks; rank++)
            lateness[rank].waited_us +=
                ((double)times[(size_t)rank * iters + i].busy_us - shortest) / iters;
    }
}

enum {
    CALIBRATION_PARTS = 10, /* a calibration takes 1 / CALIBRATION_PARTS of a point's share */
    ITERS_MOST = 20000,
    RANKS_NAMED = 64
};
static const double batch_share = 0.5, times_share = 0.2;

/* Runs `iters` operations back to back; *took_s: of the slowest process, the same in all. */
static int run_batch(struct bench_ctx *ctx, uint64_t iters, double *took_s)
{
    struct collective_scan *scan = ctx->state;
    uint64_t elapsed_ns = 0;
    int rc = scan->team.ops->run(&scan->team, iters, &elapsed_ns, ctx->err);
    double mine_s = 1e-9 * (double)elapsed_ns;
    if (!rc)
        rc = peers_gather(ctx->peers, &mine_s, scan->took_s, sizeof(mine_s), ctx->err);
    *took_s = 0;
    for (unsigned i = 0; i < ctx->peers->size && !rc; i++)
        *took_s = fmax(*took_s, scan->took_s[i]);
    return rc;
}

static unsigned batch_of(const struct collective_scan *scan)
{
    return scan->team.batch ? scan->team.batch : 1;
}

/* *each_s: seconds per operation, from a short batch. Also warms up connections, clocks, caches. */
static int calibrate(struct bench_ctx *ctx, double *each_s)
{
    struct collective_scan *scan = ctx->state;
    double took_s = 0, enough_s = scan->share_s / CALIBRATION_PARTS;
    int rc = 0;
    for (uint64_t iters = batch_of(scan); !rc; iters *= 2) {
        rc = run_batch(ctx, iters, &took_s);
        *each_s = took_s / (double)iters;
        if (took_s >= enough_s || iters >= ITERS_MOST)
            break;
    }
    return rc;
}

/* Emits a value of a point. Its key has the place only if both places are run. */
static void emit(struct bench_ctx *ctx, unsigned metric, double value,
                 const struct collective_call *call, struct dims more)
{
    const struct collective_params *params = ctx->params;
    bool is_of_rank = metric == RANK_LAST_SHARE || metric == RANK_WAITED;
    struct dims at = DIMS({BY_OP, call->op});
    if (params->place == PLACE_BOTH && !is_of_rank)
        at = dims_with(at, BY_PLACE, call->in_place ? PLACE_IN : PLACE_OUT);
    if (more.n)
        at = dims_with(at, more.of[0].dim, more.of[0].at);
    bench_emit(ctx, metric, value, dims_with(at, BY_SIZE, (double)call->bytes));
}

static void emit_rank(struct bench_ctx *ctx, const struct collective_call *call,
                      const struct collective_lateness *lateness)
{
    const struct dims rank = DIMS({BY_RANK, lateness->rank});
    emit(ctx, RANK_LAST_SHARE, lateness->last_share, call, rank);
    emit(ctx, RANK_WAITED, lateness->waited_us, call, rank);
}

static int compare_lateness(const void *a, const void *b)
{
    const struct collective_lateness *x = a, *y = b;
    if (x->last_share != y->last_share)
        return x->last_share < y->last_share ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void emit_lateness(struct bench_ctx *ctx, const struct collective_call *call, unsigned iters)
{
    struct collective_scan *scan = ctx->state;
    const struct collective_params *params = ctx->params;
    unsigned ranks = scan->team.ranks;
    if (!collective_names_last(call->op) || (call->in_place && params->place == PLACE_BOTH))
        return;
    collective_find_lateness(scan->times, ranks, iters, scan->lateness);
    if (ranks > RANKS_NAMED)
        qsort(scan->lateness, ranks, sizeof(*scan->lateness), compare_lateness);
    for (unsigned i = 0; i < ranks && i < RANKS_NAMED; i++)
        emit_rank(ctx, call, &scan->lateness[i]);
}

static int time_each(struct bench_ctx *ctx, const struct collective_call *call, unsigned iters)
{
    struct collective_scan *scan = ctx->state;
    size_t mine = (size_t)scan->team.local * iters * sizeof(*scan->own);
    bool has_all = scan->team.local == scan->team.ranks;
    int rc =
        scan->team.ops->time_each(&scan->team, iters, has_all ? scan->times : scan->own, ctx->err);
    if (!rc && !has_all)
        rc = peers_gather(ctx->peers, scan->own, scan->times, mine, ctx->err);
    if (rc)
        return rc;
    struct collective_spread spread =
        collective_spread_of(scan->times, scan->team.ranks, iters, scan->scratch);
    const double stats_us[] = {spread.p50_us, spread.p99_us, spread.max_us};
    for (unsigned i = 0; i < 3; i++)
        emit(ctx, COLLECTIVE_TIME, stats_us[i], call, DIMS({BY_STAT, i}));
    emit_lateness(ctx, call, iters);
    return 0;
}

/* Keeps the message of the first wrong point in scan->wrong, for collective_check. */
static int check_point(struct bench_ctx *ctx, const struct collective_call *call,
                       unsigned repetition)
{
    struct collective_scan *scan = ctx->state;
    struct collective_verdict mine = {0};
    const struct collective_verdict *first = NULL;
    uint64_t wrong = 0;
    int rc = scan->team.ops->check(&scan->team, repetition, &mine, ctx->err);
    if (!rc)
        rc = peers_gather(ctx->peers, &mine, scan->verdicts, sizeof(mine), ctx->err);
    for (unsigned i = 0; i < ctx->peers->size && !rc; i++) {
        wrong += scan->verdicts[i].wrong;
        if (!first && scan->verdicts[i].wrong)
            first = &scan->verdicts[i];
    }
    if (!rc && first && !scan->wrong.code)
        (void)err_set(&scan->wrong, -EBADMSG,
                      "%s of %zu bytes (%s, %s): %" PRIu64 " wrong elements; on rank %u%s%s, "
                      "element %" PRIu64 " is %.9g, not %.9g",
                      collective_op_names[call->op], call->bytes, collective_type_names[call->type],
                      call->in_place ? "in place" : "out of place", wrong, first->rank,
                      first->on[0] ? ", " : "", first->on, first->index, first->got, first->want);
    return rc;
}

static void emit_rates(struct bench_ctx *ctx, const struct collective_call *call, double each_s)
{
    struct collective_scan *scan = ctx->state;
    double algbw = (double)call->bytes / each_s * 1e-9;
    emit(ctx, COLLECTIVE_LATENCY, 1e6 * each_s, call, NO_DIMS);
    emit(ctx, COLLECTIVE_ALGBW, algbw, call, NO_DIMS);
    emit(ctx, COLLECTIVE_BUSBW, algbw * collective_bus_factor(call->op, scan->team.ranks), call,
         NO_DIMS);
}

static int run_point(struct bench_ctx *ctx, const struct collective_call *call, unsigned repetition)
{
    struct collective_scan *scan = ctx->state;
    const struct collective_params *params = ctx->params;
    double each_s = 0, took_s = 0;
    int rc = scan->team.ops->prepare(&scan->team, call, ctx->err);
    if (!rc)
        rc = calibrate(ctx, &each_s);
    if (!rc)
        rc = peers_barrier(ctx->peers, ctx->err);
    if (rc)
        return rc;
    uint64_t iters =
        collective_iters(batch_share * scan->share_s, each_s, 1, batch_of(scan), ITERS_MOST);
    rc = run_batch(ctx, iters, &took_s);
    if (!rc)
        emit_rates(ctx, call, took_s / (double)iters);
    uint64_t timed =
        collective_iters(times_share * scan->share_s, took_s, iters, 1, COLLECTIVE_TIMES_MAX);
    if (!rc)
        rc = time_each(ctx, call, (unsigned)timed);
    if (!rc && params->check)
        rc = check_point(ctx, call, repetition);
    return rc;
}

static void emit_skipped(struct bench_ctx *ctx)
{
    const struct collective_scan *scan = ctx->state;
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++) {
        const struct skipped *skipped = &scan->skipped[op];
        if (skipped->small)
            bench_emit(ctx, SKIPPED_SIZE, (double)skipped->small, DIMS({BY_OP, op}, {BY_WHY, 0}));
        if (skipped->large)
            bench_emit(ctx, SKIPPED_SIZE, (double)skipped->large, DIMS({BY_OP, op}, {BY_WHY, 1}));
    }
}

/* Which host a rank is on, for people. The value is the rank's index among its host's ranks. */
static void emit_hosts(struct bench_ctx *ctx)
{
    const struct collective_scan *scan = ctx->state;
    for (unsigned i = 0; i < ctx->peers->size && scan->several_hosts; i++) {
        unsigned before = 0;
        for (unsigned other = 0; other < i; other++)
            before += strcmp(scan->hosts[other], scan->hosts[i]) == 0;
        bench_emit(ctx, RANK_ON_HOST, before,
                   dims_with_text(DIMS({BY_RANK, i}), BY_HOST, scan->hosts[i]));
    }
}

int collective_scan_run(struct bench_ctx *ctx)
{
    struct collective_scan *scan = ctx->state;
    int rc = 0;
    scan->share_s = ctx->budget_s / (double)scan->npoints;
    bench_emit(ctx, COLLECTIVE_RANKS, scan->team.ranks, NO_DIMS);
    emit_skipped(ctx);
    emit_hosts(ctx);
    for (size_t i = 0; i < scan->npoints && !rc; i++)
        rc = run_point(ctx, &scan->points[i], (unsigned)i);
    return rc;
}

#include "bench/collective/collective.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/collective/collective_scan.h"
#include "bench/registry.h"

/* NULL if the device has no engine. */
static const struct collective_ops *collective_ops_of(enum device device)
{
    if (device == DEVICE_NCCL)
        return &collective_nccl_ops;
    return device == DEVICE_MPI ? &collective_mpi_ops : NULL;
}

/* True if all ranks report the same error: the message then names no rank. */
static bool all_report(const struct err *all, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        if (!all[i].code || strcmp(all[i].msg, all[0].msg) != 0)
            return false;
    return true;
}

int collective_agree(struct peers *peers, int rc, struct err *err)
{
    if (peers->size == 1)
        return rc;
    struct err mine = {.code = rc}, *all = calloc(peers->size, sizeof(*all));
    if (!all)
        return err_set(err, -ENOMEM, "cannot allocate the answers of %u ranks", peers->size);
    if (rc && err)
        memcpy(mine.msg, err->msg, sizeof(mine.msg));
    int met = peers_gather(peers, &mine, all, sizeof(mine), err);
    unsigned first = 0;
    while (!met && first < peers->size && !all[first].code)
        first++;
    if (!met && all_report(all, peers->size))
        met = err_set(err, all[0].code, "%s", all[0].msg);
    else if (!met && first < peers->size && strncmp(all[first].msg, "rank ", 5) == 0)
        met = err_set(err, all[first].code, "%s", all[first].msg);
    else if (!met && first < peers->size)
        met = err_set(err, all[first].code, "rank %u: %.230s", first, all[first].msg);
    free(all);
    return met;
}

/*
 * Collectives among ranks: latency and bandwidth by size, and which rank the others waited for.
 *
 * Each worker is a rank with its own GPU, or a CPU rank of MPI; a single worker drives all GPUs
 * that it sees, one rank each. All ranks use the same numbers: sizes come from the parameters,
 * iterations from the slowest rank's time. A point of the scan is an operation, a placement of its
 * buffers and a size. Each point gets the same share of the time:
 *
 *   1. operations back to back, twice as many each time, until they take a tenth of the share
 *   2. a barrier; one untimed operation; then, for half of the share, operations in queues of
 *      `queue`, with a wait at the end of each queue and no reading of a clock in between
 *   3. for a fifth of the share, at most 512 operations, each between two device events
 *   4. one operation on known inputs, its outputs poisoned before, every element compared; with
 *      graphs, both graphs: that of a single operation and that of the whole batch
 *
 * **Measures** `collective_latency` us = t, host time (CLOCK_MONOTONIC_RAW) of step 2 on the
 * slowest rank / operations; `collective_algbw` = S / t and `collective_busbw` = algbw times a
 * factor, GB/s (1e9), with S and factors as in METHOD.md: S is the whole buffer, including the
 * parts of all ranks. Step 3, on the device's clock: `collective_time` us, quantiles (stat) over
 * operations of the time from end to end, on the rank that was slowest in the operation.
 * `rank_waited` us: how much longer a rank was in an operation, on average, than the rank that came
 * last. `rank_last_share`: the share of operations in which the rank came last by a margin. All
 * ranks end together, so the rank that starts last takes the shortest time. A rank starts when its
 * device is free and its host has launched the operation: a host that is preempted inside NCCL's
 * call is late by its own clock (kernels/collective/collective_lag.h). Both values exist only for
 * operations in which every rank waits for all others; out of place if both places are run; of more
 * than 64 ranks, for the 64 with the largest last share. Keys: op, place (if both are run), size in
 * bytes; rank. With several hosts, `rank_on_host` tells the host of each rank. `skipped_size`: the
 * largest size without an element for each rank (why=small), and the smallest size too large for
 * the devices' memory (why=memory).
 * **Source** nccl-tests, src/common.cu (loop, sizes, in-place offsets) and doc/PERFORMANCE.md
 * (bandwidths); MPI: the OSU micro-benchmarks measure the same way.
 * **Limits** A queue hides a CPU that is late by less than the queue takes; a training step waits
 * each time (queue=1). The two events cost the device 1 to 2 us per operation, so `collective_time`
 * is a little above `collective_latency` for short operations. Lateness below 20 us in the call
 * does not count. A host that is preempted in the call after the launch, while a long operation
 * runs, also counts as late. With MPI the call is the operation: a rank preempted inside it looks
 * busy. all-to-all and send-recv have no in-place form. fp8 needs NCCL 2.24, and its reductions
 * need a Hopper GPU.
 */

const char *const collective_op_names[] = {
    "allreduce", "allgather", "reducescatter", "broadcast", "reduce", "alltoall",
    "sendrecv",  "gather",    "scatter",       "all",       NULL};
const char *const collective_type_names[] = {"int8",   "int32",  "int64", "half",   "bfloat16",
                                             "float",  "double", "uint8", "uint32", "uint64",
                                             "f8e4m3", "f8e5m2", NULL};
const char *const collective_redop_names[] = {"sum", "prod", "min", "max", "avg", NULL};
static const char *const place_names[] = {"out", "in", "both", NULL};

static const struct opt collective_opts[] = {
    OPT_CHOICE("op", collective_params, op, "allreduce", collective_op_names, "OP",
               "the operation, or all nine"),
    OPT_SIZE("begin", collective_params, begin, "8", 1, 8ull << 30, "BYTES", "smallest size"),
    OPT_SIZE("end", collective_params, end, "128M", 1, 8ull << 30, "BYTES", "largest size"),
    OPT_INT("factor", collective_params, factor, "4", 2, 1 << 20, "N", "from one size to the next"),
    OPT_CHOICE("type", collective_params, type, "float", collective_type_names, "TYPE",
               "of an element"),
    OPT_CHOICE("redop", collective_params, redop, "sum", collective_redop_names, "REDOP",
               "what reductions do"),
    OPT_CHOICE("place", collective_params, place, "out", place_names, "PLACE",
               "results go into another buffer, or back into the one they come from"),
    OPT_INT("root", collective_params, root, "0", 0, 65535, "RANK",
            "of broadcast, reduce, gather, scatter"),
    OPT_FLAG("graph", collective_params, graph, "0",
             "capture a batch of operations in a CUDA graph and replay it"),
    OPT_FLAG("register", collective_params, registered, "0",
             "buffers that NCCL allocates and has registered"),
    OPT_INT("queue", collective_params, queue, "20", 1, 1 << 20, "N",
            "operations that are queued before they are waited for; 1 waits for each, as a "
            "training step does; a graph queues all"),
    OPT_FLAG("check", collective_params, check, "1",
             "compare every element of one result of each point"),
    {.name = NULL},
};

static const struct bench_dim collective_dims[] = {
    [BY_OP] = {"op", .labels = collective_op_names,
               .labels_long =
                   LABELS("all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce",
                          "all-to-all", "send-recv", "gather", "scatter", NULL)},
    [BY_RANK] = {"rank", DIM_RANK},
    [BY_PLACE] = {"place", .labels = place_names,
                  .labels_long = LABELS("out of place", "in place", NULL)},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99", "max")},
    [BY_SIZE] = {"size", DIM_BYTES},
    [BY_WHY] = {"why", .labels = LABELS("small", "memory")},
    [BY_HOST] = {"host"}, /* the host's name */
    {.name = NULL},
};

static const struct bench_metric collective_metrics[] = {
    [COLLECTIVE_LATENCY] = {"collective_latency", "us", "lower", .retention = true, .gating = true},
    [COLLECTIVE_ALGBW] = {"collective_algbw", "GB/s", "higher"},
    [COLLECTIVE_BUSBW] = {"collective_busbw", "GB/s", "higher", .gating = true},
    [COLLECTIVE_TIME] = {"collective_time", "us", "lower"},
    [RANK_LAST_SHARE] = {"rank_last_share", "ratio", "none"},
    /* Ranks that wait for 1 and 3 us are equal: differences below 50 us do not count. */
    [RANK_WAITED] = {"rank_waited", "us", "lower", .peers = PEERS_WAITED, .least = 50},
    [SKIPPED_SIZE] = {"skipped_size", "B", "none"},
    [RANK_ON_HOST] = {"rank_on_host", "rank", "none"},
    [COLLECTIVE_RANKS] = {"collective_ranks", "ranks", "none"},
    {.name = NULL},
};

#define SIZE_AXIS                                                                                  \
    {                                                                                              \
        "size (bytes, log scale)", BY_SIZE, .log = true, .bytes = true                             \
    }

static const struct bench_figure collective_figures[] = {
    {.name = "collective_bandwidth",
     .kind = FIGURE_LINES,
     .metric = "collective_busbw",
     .title = "bus bandwidth of collectives, by size",
     .x = SIZE_AXIS,
     .y = {"bus bandwidth (log scale)", .log = true, .ticks = FIGURE_TICKS_GBPS}},
    {.name = "collective_latency",
     .kind = FIGURE_LINES,
     .metric = "collective_latency",
     .title = "time of a collective, by size",
     .x = SIZE_AXIS,
     .y = {"time of an operation (log scale)", .log = true, .ticks = FIGURE_TICKS_US}},
    {.name = "retention",
     .kind = FIGURE_LINES,
     .metric = "retention",
     .title = "throughput of collectives under CPU load, relative to an idle machine",
     .x = SIZE_AXIS,
     .y = {"throughput / that on idle CPUs (ratio, log scale)", .log = true}},
    {.name = NULL},
};

static int collective_validate(const void *base, struct err *err)
{
    const struct collective_params *params = base;
    bool is_all = params->op == COLLECTIVE_OPS;
    if (params->begin > params->end)
        return err_set(err, -EINVAL, "begin=%" PRIu64 " is above end=%" PRIu64, params->begin,
                       params->end);
    if (params->place == PLACE_IN && !is_all &&
        !collective_has_in_place((enum collective_op)params->op))
        return err_set(err, -EINVAL, "op=%s has no in-place form: place=out is the only one",
                       collective_op_names[params->op]);
    return 0;
}

/* `local`: how many ranks this process would hold, from probe. */
static int check_ranks(const struct bench_ctx *ctx, unsigned local)
{
    const struct collective_params *params = ctx->params;
    unsigned ranks = ctx->peers->size * local;
    if (ranks < 2)
        return err_set(ctx->err, -ENOTSUP,
                       "one rank only: a collective needs two or more, and n = 1 has no bus "
                       "bandwidth");
    if (params->root >= ranks)
        return err_set(ctx->err, -EINVAL, "root=%" PRIi64 ": there are %u ranks, from 0 on",
                       params->root, ranks);
    return 0;
}

int collective_probe_with(struct bench_ctx *ctx, const struct collective_ops *ops)
{
    unsigned local = 0;
    int rc = ops ? ops->probe(ctx, &local)
                 : err_set(ctx->err, -ENOTSUP, "nothing here runs collectives over '%s'",
                           device_name(ctx->device));
    if (!rc)
        rc = check_ranks(ctx, local);
    return collective_agree(ctx->peers, rc, ctx->err);
}

static int collective_probe(struct bench_ctx *ctx)
{
    return collective_probe_with(ctx, collective_ops_of(ctx->device));
}

static struct collective_range range_of(const struct collective_params *params)
{
    return (struct collective_range){params->begin, params->end, (uint64_t)params->factor};
}

static void add_sizes(struct collective_scan *scan, const struct collective_params *params,
                      enum collective_op op, bool in_place)
{
    struct collective_range range = range_of(params);
    struct skipped *skipped = &scan->skipped[op];
    struct collective_call call = {.op = op,
                                   .type = (enum collective_type)params->type,
                                   .redop = (enum collective_redop)params->redop,
                                   .in_place = in_place,
                                   .graph = params->graph,
                                   .queue = params->graph ? 0 : (unsigned)params->queue,
                                   .root = (unsigned)params->root};
    uint64_t size = range.begin;
    for (size_t n = collective_range_count(&range); n > 0; n--, size *= range.factor) {
        if (!collective_fit(&call, size, scan->team.ranks))
            skipped->small = size;
        else if (call.bytes <= scan->team.most_bytes)
            scan->points[scan->npoints++] = call;
        else if (!skipped->large)
            skipped->large = size;
    }
}

static int make_points(struct collective_scan *scan, struct bench_ctx *ctx)
{
    const struct collective_params *params = ctx->params;
    struct collective_range range = range_of(params);
    size_t most = collective_range_count(&range) * COLLECTIVE_OPS * 2;
    scan->points = bench_array(ctx, most, sizeof(*scan->points));
    if (!scan->points)
        return -ENOMEM;
    for (enum collective_op op = 0; op < COLLECTIVE_OPS; op++) {
        if (params->op != COLLECTIVE_OPS && params->op != (int)op)
            continue;
        if (params->place != PLACE_IN)
            add_sizes(scan, params, op, false);
        if (params->place != PLACE_OUT && collective_has_in_place(op))
            add_sizes(scan, params, op, true);
    }
    if (scan->npoints)
        return 0;
    return err_set(ctx->err, -ENOTSUP,
                   "no size from %" PRIu64 " to %" PRIu64 " bytes has an element for each of %u "
                   "ranks and fits into the devices' memory",
                   params->begin, params->end, scan->team.ranks);
}

static int allocate(struct collective_scan *scan, struct bench_ctx *ctx)
{
    size_t processes = ctx->peers->size, ranks = scan->team.ranks;
    size_t room = COLLECTIVE_TIMES_MAX * sizeof(struct collective_time);
    scan->took_s = bench_array(ctx, processes, sizeof(*scan->took_s));
    scan->verdicts = bench_array(ctx, processes, sizeof(*scan->verdicts));
    scan->hosts = bench_array(ctx, processes, sizeof(*scan->hosts));
    scan->own = bench_array(ctx, scan->team.local, room);
    scan->times = bench_array(ctx, ranks, room);
    scan->lateness = bench_array(ctx, ranks, sizeof(*scan->lateness));
    return scan->took_s && scan->verdicts && scan->hosts && scan->own && scan->times &&
                   scan->lateness
               ? 0
               : -ENOMEM;
}

static int ask_hosts(struct collective_scan *scan, struct bench_ctx *ctx)
{
    char mine[COLLECTIVE_HOST_MAX] = "";
    (void)gethostname(mine, sizeof(mine) - 1);
    mine[strcspn(mine, ".;=")] = '\0';
    int rc = peers_gather(ctx->peers, mine, scan->hosts, sizeof(mine), ctx->err);
    for (unsigned i = 1; i < ctx->peers->size && !rc; i++)
        scan->several_hosts |= strcmp(scan->hosts[i], scan->hosts[0]) != 0;
    return rc;
}

int collective_setup_with(struct bench_ctx *ctx, const struct collective_ops *ops)
{
    const struct collective_params *params = ctx->params;
    struct collective_scan *scan = ctx->state = bench_array(ctx, 1, sizeof(*scan));
    int rc = collective_agree(ctx->peers, scan ? 0 : -ENOMEM, ctx->err);
    if (rc || !scan)
        return rc;
    scan->team.ops = ops;
    rc = ops->open(&scan->team, ctx, params->end);
    if (rc)
        return rc;
    rc = make_points(scan, ctx);
    if (!rc)
        rc = allocate(scan, ctx);
    rc = collective_agree(ctx->peers, rc, ctx->err);
    return rc || !scan->hosts ? rc : ask_hosts(scan, ctx);
}

static int collective_setup(struct bench_ctx *ctx)
{
    return collective_setup_with(ctx, collective_ops_of(ctx->device));
}

static void collective_teardown(struct bench_ctx *ctx)
{
    struct collective_scan *scan = ctx->state;
    if (!scan)
        return;
    if (scan->team.ops && scan->team.ops->close)
        scan->team.ops->close(&scan->team);
}

static int collective_check(struct bench_ctx *ctx)
{
    const struct collective_scan *scan = ctx->state;
    return scan->wrong.code ? err_set(ctx->err, scan->wrong.code, "%s", scan->wrong.msg) : 0;
}

const struct bench bench_collective = {
    .name = "collective",
    .summary = "latency and bandwidth of collectives among GPUs, and which rank was waited for",
    .needs = NEED_COLLECTIVE,
    .opts = collective_opts,
    .params_size = sizeof(struct collective_params),
    .metrics = collective_metrics,
    .figures = collective_figures,
    .dims = collective_dims,
    .gang = true,
    .validate = collective_validate,
    .probe = collective_probe,
    .setup = collective_setup,
    .scan = collective_scan_run,
    .check = collective_check,
    .teardown = collective_teardown,
};

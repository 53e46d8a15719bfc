#include "bench/feed/train.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "bench/common/points.h"
#include "bench/device/device.h"
#include "bench/feed/feed.h"
#include "bench/registry.h"
#include "kernels/cpu/chase.h"

/*
 * The CPU side of data-parallel training: each worker preprocesses and feeds its GPU as in
 * `pipeline`, then all workers sum a gradient, so that one slow worker delays all.
 *
 * A step begins as in pipeline (feed.h), until the oldest batch in flight is done. Then it runs the
 * collectives of a `pattern` of data parallelism (train.h, device/reduce.h), by default one
 * all-reduce of `gradient` bytes. They end only after all workers have come to them. With `overlap`
 * they start when the batch is submitted, on their own stream, and overlap the device's work on it.
 * With pattern=accumulate a step is `accumulate` batches, with the collectives after the last.
 * With a `heap`, each rank has a garbage collector: a walk over linked objects of one cache line
 * each, in random order, before every 16th step. `collect` says which.
 *
 * **Measures** steps on the harness's clock: ops = rows of the batches submitted, bytes = 4 rows
 * cols a step, copied to the device; the gradient does not count. device_ns = time the device
 * worked on batches, as in pipeline, without the all-reduce. Other values come from the times
 * t_i(r) at which rank r came to the all-reduce of measured step i (CLOCK_MONOTONIC_RAW, which all
 * processes of a node share; on cuda, when rank r had launched the all-reduce):
 *   waited_for_share  share of the steps in which rank r was the last: all others waited for it
 *   waited_for_time   mean of max t_i - min t_i over those steps: how long the first rank waited
 *   wait_time         mean of max t_i - t_i(r) over all steps: how long rank r waited
 * With a pattern, by its formula: step_bytes and step_calls of each rank in a step, by collective
 * (func=, bytes as S in METHOD.md), and step_sent, its bytes to the next rank in a ring.
 * Efficiency is relative to a solo run of one worker with its share of the CPUs, which has nothing
 * to reduce: so it includes the cost of the all-reduce.
 * **Source** The shape is that of synchronous data-parallel training: Li et al., "PyTorch
 * Distributed", VLDB 13 (2020), section 3; the ring's time: Patarasuk & Yuan, JPDC 69 (2009),
 * 117-124.
 * **Limits** In a real network, collectives and the work of layers wait for each other. Here
 * collectives begin all at once with overlap, or after all of the work without it. The GPU does not
 * compute the gradient, and buckets and layers share the same memory in turn. On cuda the wait for
 * the collectives keeps a CPU busy, also with wait=block. Several machines have no common clock:
 * the waited_for and wait values are absent, and sim is skipped. Those values cover the first
 * 262144 measured steps.
 */

enum {
    STEPS_MOST = 1 << 18,                            /* measured steps whose times are kept */
    COLLECT_STEPS = 16,                              /* from one garbage collection to the next */
    CHUNK = PEERS_BLOCK_MAX / (int)sizeof(uint64_t), /* times of a rank in one gather */
};

enum { COLLECT_OWN, COLLECT_SAME, COLLECT_FROZEN };
static const char *const collect_names[] = {"own", "same", "frozen", NULL};

struct train_params {
    struct feed_params feed;
    uint64_t gradient, bucket, heap;
    int64_t layers, accumulate;
    int collect;
    int pattern; /* enum pattern */
    bool overlap;
    double sim_reduce_gbps;
};

static const struct opt train_opts[] = {
    FEED_OPTS,
    OPT_SIZE("gradient", train_params, gradient, "64M", sizeof(float), 1ull << 36, "SIZE",
             "bytes that all workers sum in each step, of float32"),
    OPT_CHOICE("pattern", train_params, pattern, "whole", pattern_names, "PATTERN",
               "what is sent in a step: the gradient as a whole, or as in DDP, ZeRO or FSDP, or "
               "once in several batches"),
    OPT_SIZE("bucket", train_params, bucket, "25M", sizeof(float), 1ull << 36, "SIZE",
             "patterns ddp, zero and accumulate: bytes sent at a time"),
    OPT_INT("layers", train_params, layers, "16", 1, 4096, "N",
            "pattern fsdp: layers, of which each is sent by itself"),
    OPT_INT("accumulate", train_params, accumulate, "4", 1, 1024, "N",
            "pattern accumulate: batches of a step, whose gradients are summed once"),
    OPT_FLAG("overlap", train_params, overlap, "0",
             "send while the device works on the batch, not behind it"),
    OPT_SIZE("heap", train_params, heap, "0", 0, 1ull << 32, "SIZE",
             "live objects that each rank's garbage collector walks every 16 steps; 0: none"),
    OPT_CHOICE("collect", train_params, collect, "own", collect_names, "WHEN",
               "each rank collects before a step of its own, all before the same, or none, as "
               "after gc.freeze()"),
    OPT_DOUBLE("sim_reduce_gbps", train_params, sim_reduce_gbps, "100", 0.001, 1e6, "X",
               "device sim: GB/s that each worker sends in the all-reduce (1e9 bytes)"),
    {.name = NULL},
};

struct train {
    struct feed feed;
    struct pattern_calls calls; /* of a step */
    struct reduce reduce;       /* closed with a single worker */
    uint64_t batches;           /* of a step */
    bool overlap;
    uint64_t *arrived_ns; /* [steps]: when this rank came to the all-reduce */
    uint64_t steps;       /* measured so far */
    struct memory_block heap;
    struct chase_line *object; /* NULL: nothing is collected */
    uint64_t until_collect;    /* steps */
};

static int train_validate(const void *raw, struct err *err)
{
    const struct train_params *params = raw;
    if (params->gradient % sizeof(float))
        return err_set(err, -EINVAL, "gradient %" PRIu64 " is not a multiple of 4, a float32",
                       params->gradient);
    if (params->bucket % sizeof(float))
        return err_set(err, -EINVAL, "bucket %" PRIu64 " is not a multiple of 4, a float32",
                       params->bucket);
    if (params->pattern == PATTERN_FSDP &&
        params->gradient / sizeof(float) < (uint64_t)params->layers)
        return err_set(err, -EINVAL,
                       "gradient %" PRIu64 " has no float32 for each of %" PRIi64 " layers",
                       params->gradient, params->layers);
    return batches_validate(&params->feed.batch, err);
}

static int train_probe(struct bench_ctx *ctx)
{
    bool one_clock;
    if (ctx->planned_workers < 2) /* sums nothing: the rate that several are compared with */
        return device_probe(ctx->device, ctx->err);
    int rc = clocks_ask(ctx, &one_clock);
    if (rc)
        return rc;
    if (!one_clock && ctx->device == DEVICE_SIM)
        return err_set(ctx->err, -ENOTSUP,
                       "device sim: ranks of several machines have no clock in common");
    rc = device_probe(ctx->device, ctx->err);
    return rc ? rc : reduce_probe(ctx);
}

static int open_reduce(struct train *train, struct bench_ctx *ctx)
{
    const struct train_params *params = ctx->params;
    const struct pattern_params pattern = {.pattern = params->pattern,
                                           .gradient = params->gradient,
                                           .bucket = params->bucket,
                                           .layers = (unsigned)params->layers};
    int rc = pattern_make(&pattern, ctx->peers->size, &train->calls, ctx->err);
    const struct reduce_config config = {
        .kind = ctx->device,
        .calls = train->calls.call,
        .ncalls = train->calls.n,
        .spin = params->feed.wait == FEED_WAIT_SPIN,
        .sim_gbps = params->sim_reduce_gbps,
    };
    return rc ? rc : reduce_open(&train->reduce, &config, ctx);
}

/* Ranks of `own` collect as far from each other as the steps between two collections allow. */
static int open_heap(struct train *train, struct bench_ctx *ctx)
{
    const struct train_params *params = ctx->params;
    const size_t objects = params->heap / CHASE_LINE_BYTES;
    if (!objects || params->collect == COLLECT_FROZEN)
        return 0;
    int rc = memory_check_fits(params->heap * ctx->workers, "the heaps of all ranks", ctx->err);
    if (!rc)
        rc = memory_open(ctx, &train->heap, params->heap, MEMORY_4K);
    if (rc)
        return rc;
    train->object = train->heap.base;
    chase_grow(train->object, 0, objects, ctx->seed);
    if (params->collect == COLLECT_OWN)
        train->until_collect = (uint64_t)ctx->peers->rank * COLLECT_STEPS / ctx->peers->size;
    return 0;
}

static int train_setup(struct bench_ctx *ctx)
{
    const struct train_params *params = ctx->params;
    struct train *train = ctx->state;
    train->arrived_ns = bench_array(ctx, STEPS_MOST, sizeof(*train->arrived_ns));
    if (!train->arrived_ns)
        return -ENOMEM;
    train->batches = params->pattern == PATTERN_ACCUMULATE ? (uint64_t)params->accumulate : 1;
    train->overlap = params->overlap;
    int rc = feed_open(&train->feed, &params->feed, ctx);
    if (!rc)
        rc = open_heap(train, ctx);
    return rc || ctx->workers == 1 ? rc : open_reduce(train, ctx);
}

static void train_teardown(struct bench_ctx *ctx)
{
    struct train *train = ctx->state;
    reduce_close(&train->reduce);
    pattern_free(&train->calls);
}

/* Stage: starting the collectives, and waiting until they are done. */
enum { GRADIENT = FEED_STAGES_COUNT };

static const struct bench_stage train_stages[] = {
    FEED_STAGES,
    [GRADIENT] = BENCH_STAGE("gradient", STAGE_WAIT),
    {.name = NULL},
};

/* Runs the last batch of a step and the collectives. */
static int reduce_after_last_batch(struct train *train, struct bench_ctx *ctx,
                                   struct sample *sample)
{
    uint64_t arrived_ns;
    int rc = feed_submit(&train->feed, sample, ctx);
    if (!rc && !train->overlap)
        rc = feed_wait(&train->feed, sample, ctx);
    if (!rc)
        rc = reduce_start(&train->reduce, &arrived_ns, ctx->err);
    stage_mark(ctx->stages, GRADIENT);
    if (!rc && train->overlap)
        rc = feed_wait(&train->feed, sample, ctx);
    if (!rc)
        rc = reduce_finish(&train->reduce, ctx->err);
    stage_mark(ctx->stages, GRADIENT);
    if (!rc && ctx->measuring && train->steps < STEPS_MOST)
        train->arrived_ns[train->steps++] = arrived_ns;
    return rc;
}

static void collect_garbage(struct train *train, const struct bench_ctx *ctx)
{
    const struct train_params *params = ctx->params;
    if (!train->object || train->until_collect--)
        return;
    train->object = chase_walk(train->object, params->heap / CHASE_LINE_BYTES);
    train->until_collect = COLLECT_STEPS - 1;
    stage_mark(ctx->stages, FEED_OTHER);
}

static int step(struct train *train, struct bench_ctx *ctx, struct sample *sample)
{
    bool sends = train->reduce.ops;
    int rc = 0;
    for (uint64_t i = sends ? 1 : 0; i < train->batches && !rc; i++)
        rc = feed_step(&train->feed, sample, ctx);
    return rc || !sends ? rc : reduce_after_last_batch(train, ctx, sample);
}

static int train_step(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    int rc = 0;
    sample->iters = sample->ops = sample->bytes = sample->device_ns = 0;
    for (uint64_t i = 0; i < iters && !rc; i++) {
        stage_start(ctx->stages);
        collect_garbage(ctx->state, ctx);
        rc = step(ctx->state, ctx, sample);
        stage_mark(ctx->stages, FEED_OTHER);
    }
    return rc;
}

/* Scratch: a chunk of all ranks' times, and the sums of each rank. */
struct lateness_work {
    uint64_t *arrived_ns;
    struct lateness *ranks;
};

/* The harness makes all ranks end with the same step; otherwise the times do not match. */
static int check_steps(const struct train *train, struct peers *peers, uint64_t *steps,
                       struct err *err)
{
    int rc = peers_gather(peers, &train->steps, steps, sizeof(*steps), err);
    for (unsigned r = 1; r < peers->size && !rc; r++)
        if (steps[r] != steps[0])
            rc = err_set(err, -EPROTO, "rank %u did %" PRIu64 " steps, rank 0 %" PRIu64, r,
                         steps[r], steps[0]);
    return rc;
}

static int add_up(const struct train *train, struct peers *peers, struct lateness_work *work,
                  struct err *err)
{
    int rc = check_steps(train, peers, work->arrived_ns, err);
    for (uint64_t at = 0; at < train->steps && !rc; at += CHUNK) {
        uint64_t left = train->steps - at;
        size_t n = left < CHUNK ? left : CHUNK;
        rc = peers_gather(peers, train->arrived_ns + at, work->arrived_ns,
                          n * sizeof(*work->arrived_ns), err);
        if (!rc)
            lateness_add(work->ranks, peers->size, work->arrived_ns, n);
    }
    return rc;
}

enum { BY_RANK = 1, BY_FUNC };
static const struct bench_dim train_dims[] = {
    [BY_RANK] = {"rank", DIM_RANK}, [BY_FUNC] = {"func"}, {.name = NULL}};

enum { WAITED_FOR_SHARE, WAITED_FOR_TIME, WAIT_TIME, STEP_BYTES, STEP_CALLS, STEP_SENT, OF_FEED };

static const struct bench_metric train_metrics[] = {
    [WAITED_FOR_SHARE] = {"waited_for_share", "ratio", "none"},
    [WAITED_FOR_TIME] = {"waited_for_time", "s", "lower"},
    [WAIT_TIME] = {"wait_time", "s", "lower"},
    [STEP_BYTES] = {"step_bytes", "B", "none", .hidden = true},
    [STEP_CALLS] = {"step_calls", "count", "none", .hidden = true},
    [STEP_SENT] = {"step_sent", "B", "none", .hidden = true,
                   .footnote = "sent by each rank a step, by the formula of a ring"},
    [OF_FEED] = FEED_METRICS,
    {.name = NULL},
};

/* WAITED_FOR_TIME has no value for a rank that was never last: it is a mean over no steps. */
static void emit_rank(struct bench_ctx *ctx, unsigned rank, const struct lateness *lateness,
                      uint64_t steps)
{
    double all = (double)steps, last = (double)lateness->last;
    const struct dims at = DIMS({BY_RANK, rank});
    bench_emit(ctx, WAITED_FOR_SHARE, last / all, at);
    if (lateness->last)
        bench_emit(ctx, WAITED_FOR_TIME, (double)lateness->late_ns * 1e-9 / last, at);
    bench_emit(ctx, WAIT_TIME, (double)lateness->wait_ns * 1e-9 / all, at);
}

/* Collective; rank 0 emits. */
static int report_lateness(struct train *train, struct bench_ctx *ctx)
{
    unsigned n = ctx->peers->size;
    struct lateness_work work = {
        .arrived_ns = calloc((size_t)n * CHUNK, sizeof(*work.arrived_ns)),
        .ranks = calloc(n, sizeof(*work.ranks)),
    };
    struct err none;
    bool one_clock = true;
    int rc = work.arrived_ns && work.ranks
                 ? add_up(train, ctx->peers, &work, ctx->err)
                 : err_set(ctx->err, -ENOMEM, "no memory for %u ranks", n);
    if (!rc)
        rc = clocks_ask(ctx, &one_clock);
    if (!rc && !one_clock && ctx->worker == 0) {
        (void)err_set(&none, -ENOTSUP, "ranks of several machines have no clock in common");
        (void)bench_emit_absent(ctx, WAITED_FOR_SHARE, &none, NO_DIMS);
    }
    for (unsigned r = 0; r < n && !rc && one_clock && ctx->worker == 0 && train->steps; r++)
        emit_rank(ctx, r, &work.ranks[r], train->steps);
    free(work.ranks);
    free(work.arrived_ns);
    return rc;
}

/* By the formula alone. The default, one all-reduce of `gradient` bytes, has no such values. */
static void report_pattern(const struct train *train, struct bench_ctx *ctx)
{
    const struct train_params *params = ctx->params;
    double bytes[COLLECTIVE_OPS] = {0}, calls[COLLECTIVE_OPS] = {0}, sent = 0;
    if (params->pattern == PATTERN_WHOLE || ctx->worker)
        return;
    for (size_t i = 0; i < train->calls.n; i++) {
        const struct collective_call *call = &train->calls.call[i];
        bytes[call->op] += (double)call->bytes;
        calls[call->op]++;
        sent += pattern_sent(call, ctx->peers->size);
    }
    for (enum collective_op op = 0; op <= COLLECTIVE_REDUCESCATTER; op++) {
        const struct dims at = dims_with_text(NO_DIMS, BY_FUNC, collective_func_name(op));
        if (!(calls[op] > 0))
            continue;
        bench_emit(ctx, STEP_BYTES, bytes[op], at);
        bench_emit(ctx, STEP_CALLS, calls[op], at);
    }
    bench_emit(ctx, STEP_SENT, sent, NO_DIMS);
}

static int train_check(struct bench_ctx *ctx)
{
    struct train *train = ctx->state;
    int rc = feed_check(&train->feed, ctx);
    if (!rc && train->reduce.ops)
        rc = reduce_check(&train->reduce, ctx->err);
    if (!rc && train->reduce.ops)
        rc = report_lateness(train, ctx);
    if (!rc && train->reduce.ops)
        report_pattern(train, ctx);
    if (!rc && !ctx->worker)
        feed_report(&train->feed, OF_FEED, ctx);
    return rc;
}

const struct bench bench_train = {
    .name = "train",
    .summary = "feed GPUs as pipeline does, and sum a gradient over all workers each step",
    .ops_unit = "items",
    .needs = NEED_DEVICE,
    .opts = train_opts,
    .params_size = sizeof(struct train_params),
    .metrics = train_metrics,
    .dims = train_dims,
    .stages = train_stages,
    .gang = true,
    .validate = train_validate,
    .probe = train_probe,
    .state_size = sizeof(struct train),
    .setup = train_setup,
    .step = train_step,
    .check = train_check,
    .teardown = train_teardown,
};

void lateness_add(struct lateness *ranks, unsigned n, const uint64_t *arrived_ns, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        uint64_t first_ns = arrived_ns[i], last_ns = arrived_ns[i];
        unsigned last = 0;
        for (unsigned r = 1; r < n; r++) {
            uint64_t at_ns = arrived_ns[r * steps + i];
            first_ns = at_ns < first_ns ? at_ns : first_ns;
            if (at_ns > last_ns) {
                last_ns = at_ns;
                last = r;
            }
        }
        ranks[last].last++;
        ranks[last].late_ns += last_ns - first_ns;
        for (unsigned r = 0; r < n; r++)
            ranks[r].wait_ns += last_ns - arrived_ns[r * steps + i];
    }
}

const char *const pattern_names[] = {"whole", "ddp", "zero", "fsdp", "accumulate", NULL};

/* A call with `bytes`, rounded up so that each rank has the same number of elements. */
static struct collective_call call_of(enum collective_op op, uint64_t bytes, unsigned ranks)
{
    bool has_parts = collective_has_parts(op);
    size_t parts = has_parts ? ranks : 1;
    size_t count = (bytes / sizeof(float) + parts - 1) / parts;
    return (struct collective_call){
        .op = op, .type = COLLECTIVE_FLOAT, .count = count, .bytes = count * parts * sizeof(float)};
}

static void add(struct pattern_calls *calls, enum collective_op op, uint64_t bytes, unsigned ranks)
{
    calls->call[calls->n++] = call_of(op, bytes, ranks);
}

static uint64_t parts_of(const struct pattern_params *params)
{
    uint64_t buckets = (params->gradient + params->bucket - 1) / params->bucket;
    if (params->pattern == PATTERN_WHOLE)
        return 1;
    return params->pattern == PATTERN_FSDP ? params->layers : buckets;
}

/* Bytes of a layer or bucket. Layers are equal; the last layers may have one element less. */
static uint64_t part_bytes(const struct pattern_params *params, uint64_t part, uint64_t parts)
{
    uint64_t elements = params->gradient / sizeof(float);
    if (params->pattern == PATTERN_FSDP)
        return (elements / parts + (part < elements % parts)) * sizeof(float);
    if (params->pattern == PATTERN_WHOLE)
        return params->gradient;
    uint64_t left = params->gradient - part * params->bucket;
    return left < params->bucket ? left : params->bucket;
}

static void add_parts(const struct pattern_params *params, enum collective_op op, unsigned ranks,
                      struct pattern_calls *calls)
{
    uint64_t parts = parts_of(params);
    for (uint64_t i = 0; i < parts; i++)
        add(calls, op, part_bytes(params, i, parts), ranks);
}

static void add_backward(const struct pattern_params *params, unsigned ranks,
                         struct pattern_calls *calls)
{
    uint64_t parts = parts_of(params);
    for (uint64_t i = parts; i > 0; i--) {
        add(calls, COLLECTIVE_ALLGATHER, part_bytes(params, i - 1, parts), ranks);
        add(calls, COLLECTIVE_REDUCESCATTER, part_bytes(params, i - 1, parts), ranks);
    }
}

int pattern_make(const struct pattern_params *params, unsigned ranks, struct pattern_calls *calls,
                 struct err *err)
{
    enum { EACH_MOST = 3 }; /* most calls of a part */
    uint64_t most = parts_of(params) * EACH_MOST;
    *calls = (struct pattern_calls){0};
    if (most > PATTERN_CALLS_MOST)
        return err_set(err, -E2BIG, "more than %d collectives a step: take larger buckets",
                       PATTERN_CALLS_MOST);
    calls->call = calloc(most, sizeof(*calls->call));
    if (!calls->call)
        return err_set(err, -ENOMEM, "no memory for the collectives of a step");
    switch ((enum pattern)params->pattern) {
    case PATTERN_ZERO:
        add_parts(params, COLLECTIVE_REDUCESCATTER, ranks, calls);
        add_parts(params, COLLECTIVE_ALLGATHER, ranks, calls);
        break;
    case PATTERN_FSDP:
        add_parts(params, COLLECTIVE_ALLGATHER, ranks, calls);
        add_backward(params, ranks, calls);
        break;
    default:
        add_parts(params, COLLECTIVE_ALLREDUCE, ranks, calls);
    }
    return 0;
}

void pattern_free(struct pattern_calls *calls)
{
    free(calls->call);
    *calls = (struct pattern_calls){0};
}

double pattern_sent(const struct collective_call *call, unsigned ranks)
{
    double times = call->op == COLLECTIVE_ALLREDUCE ? 2 : 1;
    return times * (ranks - 1) / ranks * (double)call->bytes;
}

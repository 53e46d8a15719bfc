/*
 * Bandwidth of each GPU's own memory: STREAM's kernels, and the driver's copy.
 *
 * Each GPU alone, and all at once (with=all: the same power and cooling for all), an operation at a
 * time; each round takes these in an order of its own. Of the shapes that kernels/gpu/gpu_stream.h
 * has, setup takes for each operation and GPU the one that is fastest here, unless `shape` names
 * one.
 *
 * **Measures** `device_bandwidth`, GB/s (1e9): elements x 16 B (copy, scale) or 24 B (add, triad),
 * as STREAM counts, / time between device events around a batch of about 10 ms of passes, one
 * behind the other; the median over batches. The first third of the time of each, 0.1 s at least,
 * settles and is not counted; with=all counts while all are at work (bench/gpu/gpu_overlap.h).
 * via=driver is cudaMemcpyAsync from device to device, which the driver does as it likes: on one
 * GPU, mostly with a kernel of its own. `stream_size`: bytes of each of the three arrays.
 * `shape_bandwidth`: what the choice was made by.
 * **Source** kernels/gpu/gpu_stream.h names it.
 * **Limits** Arrays are 1 GiB, or less where memory is short: with fewer than four times the L2's
 * bytes, part of the traffic stays in it (said on stderr). Reads and writes only in equal or 2:1
 * parts; no read-only or write-only bandwidth.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_overlap.h"
#include "bench/registry.h"
#include "harness/base/stats.h"
#include "harness/say/log.h"
#include "kernels/gpu/gpu_stream.h"

struct stream_params {
    uint64_t size;
    int shape;
};

/* In the order of kernels/gpu/gpu_stream.cu, behind "auto". */
static const char *const shape_names[] = {
    "auto",  "flat1",    "flat1-cs", "flat2",    "flat2-cs", "flat4",    "flat4-cs",
    "flat8", "flat8-cs", "loop4",    "loop4-cs", "loop8",    "loop8-cs", NULL,
};
_Static_assert(sizeof(shape_names) / sizeof(shape_names[0]) == GPU_STREAM_SHAPES + 2,
               "a name for each shape");

static const struct opt stream_opts[] = {
    OPT_SIZE("size", stream_params, size, NULL, GPU_STREAM_GRAIN, 1ull << 40, "BYTES",
             "bytes of each of three arrays; unset: 1 GiB, or what fits"),
    OPT_CHOICE("shape", stream_params, shape, "auto", shape_names, "NAME",
               "how kernels go over the arrays; auto: what is fastest here"),
    {.name = NULL},
};

enum { DEVICE_BANDWIDTH, STREAM_SIZE, SHAPE_BANDWIDTH };
static const struct bench_metric stream_metrics[] = {
    [DEVICE_BANDWIDTH] = {"device_bandwidth", "GB/s", "higher", .peers = PEERS_EQUAL},
    [STREAM_SIZE] = {"stream_size", "B", "none"},
    [SHAPE_BANDWIDTH] = {"shape_bandwidth", "GB/s", "higher", .quiet = true},
    {.name = NULL},
};

#ifdef CONTEND_HAVE_CUDA

enum {
    GPUS_MAX = GPU_OVERLAP_GPUS,
    TURNS = GPU_STREAM_OPS + 1, /* the last is the driver's copy */
    BATCHES_MAX = 4096,         /* that are kept */
    TRIAL_PASSES = 4,
    TRIALS = 2
};

static const double batch_s = 0.01;
static const uint64_t usual_bytes = 1ull << 30;

struct stream_gpu {
    struct gpu_stream *gpu;
    uint64_t l2_bytes;
    double shape_gbps[GPU_STREAM_OPS][GPU_STREAM_SHAPES]; /* 0 = not tried */
    unsigned shape[TURNS], passes[TURNS];
    double median_gbps[TURNS][2]; /* alone, with all */
    double *gbps;                 /* of the batches that count, of the turn that runs */
    size_t n;
};

struct stream {
    struct stream_gpu gpus[GPUS_MAX];
    unsigned ngpus, turn; /* turn: the one that runs */
    uint64_t bytes;
    struct err *err;
};

static enum gpu_stream_op op_of(unsigned turn)
{
    return turn == GPU_STREAM_OPS ? GPU_STREAM_COPY : (enum gpu_stream_op)turn;
}

static double gbps_of(const struct stream *t, enum gpu_stream_op op, unsigned passes,
                      double seconds)
{
    double elements = (double)t->bytes / sizeof(double);
    return seconds > 0 ? elements * gpu_stream_op_bytes(op) * passes / seconds * 1e-9 : 0;
}

/* As much as fits on the fullest GPU: sizes that differ could not be compared. */
static int choose_size(struct stream *t, const struct bench_ctx *ctx)
{
    const struct stream_params *params = ctx->params;
    uint64_t least_free = UINT64_MAX, most_l2 = 0;
    for (unsigned i = 0; i < t->ngpus; i++) {
        char msg[GPU_MSG] = "";
        uint64_t free_bytes = 0, *l2_bytes = &t->gpus[i].l2_bytes;
        int rc = gpu_error(gpu_stream_memory(ctx->machine->gpus[i].pci_bdf, &free_bytes, l2_bytes,
                                             msg, sizeof(msg)),
                           msg, ctx->err);
        if (rc)
            return rc;
        least_free = free_bytes < least_free ? free_bytes : least_free;
        most_l2 = *l2_bytes > most_l2 ? *l2_bytes : most_l2;
    }
    uint64_t fits = least_free / 10 * 9 / 3, wants = params->size ? params->size : usual_bytes;
    if (!params->size && wants < 4 * most_l2)
        wants = 4 * most_l2;
    t->bytes = memory_round_down(wants < fits ? wants : fits, GPU_STREAM_GRAIN);
    if (t->bytes == 0)
        return err_set(ctx->err, -ENOMEM, "%llu bytes are free on a GPU: too few for three arrays",
                       (unsigned long long)least_free);
    if (t->bytes < wants)
        log_warn("gpu_stream: arrays of %llu MiB, since GPU memory is short",
                 (unsigned long long)(t->bytes >> 20));
    if (t->bytes < 4 * most_l2)
        log_warn("gpu_stream: arrays below four times the L2's %llu MiB are partly served by it",
                 (unsigned long long)(most_l2 >> 20));
    return 0;
}

static int run_batch(struct stream_gpu *gpu, enum gpu_stream_op op, unsigned shape, unsigned passes,
                     double *seconds, struct err *err)
{
    char msg[GPU_MSG] = "";
    int rc = gpu_stream_queue(gpu->gpu, 0, op, shape, passes, msg, sizeof(msg));
    if (!rc)
        rc = gpu_stream_wait(gpu->gpu, 0, seconds, msg, sizeof(msg));
    return gpu_error(rc, msg, err);
}

/* GB/s of the better of some short batches, behind one pass that warms up. */
static int try_shape(const struct stream *t, struct stream_gpu *gpu, enum gpu_stream_op op,
                     unsigned shape, double *gbps, struct err *err)
{
    double seconds = 0;
    int rc = run_batch(gpu, op, shape, 1, &seconds, err);
    *gbps = 0;
    for (int i = 0; i < TRIALS && !rc; i++) {
        rc = run_batch(gpu, op, shape, TRIAL_PASSES, &seconds, err);
        double got = rc ? 0 : gbps_of(t, op, TRIAL_PASSES, seconds);
        *gbps = got > *gbps ? got : *gbps;
    }
    return rc;
}

static int choose_shape(const struct stream *t, struct stream_gpu *gpu, enum gpu_stream_op op,
                        int asked, struct err *err)
{
    unsigned first = asked ? (unsigned)asked - 1 : 0;
    unsigned end = asked ? (unsigned)asked : GPU_STREAM_SHAPES;
    gpu->shape[op] = first;
    for (unsigned shape = first; shape < end; shape++) {
        double *gbps = &gpu->shape_gbps[op][shape];
        int rc = try_shape(t, gpu, op, shape, gbps, err);
        if (rc)
            return rc;
        if (*gbps > gpu->shape_gbps[op][gpu->shape[op]])
            gpu->shape[op] = shape;
    }
    return 0;
}

static unsigned passes_for(const struct stream *t, enum gpu_stream_op op, double gbps)
{
    double pass_s = (double)t->bytes / sizeof(double) * gpu_stream_op_bytes(op) / (gbps * 1e9);
    double passes = gbps > 0 ? batch_s / pass_s : 1;
    return passes < 1 ? 1 : passes > 1000 ? 1000 : (unsigned)passes;
}

static int open_gpu(struct stream *t, struct stream_gpu *gpu, const char *pci_bdf,
                    const struct bench_ctx *ctx)
{
    const struct stream_params *params = ctx->params;
    const struct gpu_stream_config config = {
        .pci_bdf = pci_bdf, .bytes = t->bytes, .seed = ctx->seed};
    char msg[GPU_MSG] = "";
    double driver_gbps = 0;
    gpu->gbps = calloc(BATCHES_MAX, sizeof(*gpu->gbps));
    if (!gpu->gbps)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the batches of a GPU");
    int rc = gpu_error(gpu_stream_open(&config, &gpu->gpu, msg, sizeof(msg)), msg, ctx->err);
    for (unsigned op = 0; op < GPU_STREAM_OPS && !rc; op++) {
        rc = choose_shape(t, gpu, (enum gpu_stream_op)op, params->shape, ctx->err);
        gpu->passes[op] =
            passes_for(t, (enum gpu_stream_op)op, gpu->shape_gbps[op][gpu->shape[op]]);
    }
    if (!rc)
        rc = try_shape(t, gpu, GPU_STREAM_COPY, GPU_STREAM_DRIVER, &driver_gbps, ctx->err);
    if (rc)
        return rc;
    gpu->shape[GPU_STREAM_OPS] = GPU_STREAM_DRIVER;
    gpu->passes[GPU_STREAM_OPS] = passes_for(t, GPU_STREAM_COPY, driver_gbps);
    return 0;
}

static int stream_setup(struct bench_ctx *ctx)
{
    const struct bench_machine *machine = ctx->machine;
    struct stream *t = calloc(1, sizeof(*t));
    ctx->state = t;
    if (!t)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the state of the scan");
    t->ngpus = machine->ngpus < GPUS_MAX ? machine->ngpus : GPUS_MAX;
    int rc = choose_size(t, ctx);
    for (unsigned i = 0; i < t->ngpus && !rc; i++)
        rc = open_gpu(t, &t->gpus[i], machine->gpus[i].pci_bdf, ctx);
    return rc;
}

static void stream_teardown(struct bench_ctx *ctx)
{
    struct stream *t = ctx->state;
    ctx->state = NULL;
    if (!t)
        return;
    for (unsigned i = 0; i < t->ngpus; i++) {
        gpu_stream_close(t->gpus[i].gpu);
        free(t->gpus[i].gbps);
    }
    free(t);
}

static int batch_queue(void *arg, unsigned gpu, unsigned slot)
{
    const struct stream *t = arg;
    const struct stream_gpu *g = &t->gpus[gpu];
    char msg[GPU_MSG] = "";
    return gpu_error(gpu_stream_queue(g->gpu, slot, op_of(t->turn), g->shape[t->turn],
                                      g->passes[t->turn], msg, sizeof(msg)),
                     msg, t->err);
}

static int batch_done(void *arg, unsigned gpu, unsigned slot, bool *done)
{
    const struct stream *t = arg;
    char msg[GPU_MSG] = "";
    return gpu_error(gpu_stream_done(t->gpus[gpu].gpu, slot, done, msg, sizeof(msg)), msg, t->err);
}

static int batch_take(void *arg, unsigned gpu, unsigned slot, bool counts)
{
    struct stream *t = arg;
    struct stream_gpu *g = &t->gpus[gpu];
    char msg[GPU_MSG] = "";
    double seconds = 0;
    int rc = gpu_error(gpu_stream_wait(g->gpu, slot, &seconds, msg, sizeof(msg)), msg, t->err);
    if (!rc && counts && g->n < BATCHES_MAX)
        g->gbps[g->n++] = gbps_of(t, op_of(t->turn), g->passes[t->turn], seconds);
    return rc;
}

static void batch_idle(void *arg, bool counts)
{
    const struct timespec nap = {.tv_nsec = 500000};
    (void)arg;
    (void)counts;
    (void)nanosleep(&nap, NULL);
}

static const struct gpu_overlap_ops batch_ops = {
    .queue = batch_queue, .done = batch_done, .take = batch_take, .idle = batch_idle};

/* Points: groups, and of each its turns. */
static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct stream *t = ctx->state;
    double slice_s = ctx->budget_s / (TURNS * gpu_groups(t->ngpus));
    struct gpu_overlap overlap = {.settle_s = gpu_settle_s(slice_s),
                                  .count_s = slice_s * 2 / 3,
                                  .depth = GPU_STREAM_SLOTS,
                                  .ops = &batch_ops,
                                  .arg = t};
    struct gpu_group group = gpu_group_at(t->ngpus, (unsigned)(point / TURNS));
    t->turn = (unsigned)(point % TURNS);
    t->err = ctx->err;
    for (unsigned i = group.first; i < group.end; i++) {
        t->gpus[i].n = 0;
        overlap.gpu[overlap.ngpus++] = i;
    }
    int rc = gpu_overlap_run(&overlap);
    for (unsigned i = group.first; i < group.end && !rc; i++)
        t->gpus[i].median_gbps[t->turn][group.all] =
            stats_sort_median(t->gpus[i].gbps, t->gpus[i].n);
    return rc;
}

static int emit_point(struct bench_ctx *ctx, size_t point)
{
    const struct stream *t = ctx->state;
    struct gpu_group group = gpu_group_at(t->ngpus, (unsigned)(point / TURNS));
    unsigned turn = (unsigned)(point % TURNS);
    int rc = 0;
    for (unsigned i = group.first; i < group.end && !rc; i++)
        rc = bench_emit(ctx, DEVICE_BANDWIDTH, t->gpus[i].median_gbps[turn][group.all],
                        "op=%s;via=%s;with=%s;gpu=%u", gpu_stream_op_name(op_of(turn)),
                        turn == GPU_STREAM_OPS ? "driver" : "kernel", group.all ? "all" : "alone",
                        i);
    return rc;
}

static int emit_choices(struct bench_ctx *ctx)
{
    const struct stream *t = ctx->state;
    int rc = bench_emit(ctx, STREAM_SIZE, (double)t->bytes, "%s", "");
    for (unsigned i = 0; i < t->ngpus; i++)
        for (unsigned op = 0; op < GPU_STREAM_OPS; op++)
            for (unsigned shape = 0; shape < GPU_STREAM_SHAPES && !rc; shape++)
                if (t->gpus[i].shape_gbps[op][shape] > 0)
                    rc = bench_emit(ctx, SHAPE_BANDWIDTH, t->gpus[i].shape_gbps[op][shape],
                                    "op=%s;shape=%s;gpu=%u",
                                    gpu_stream_op_name((enum gpu_stream_op)op),
                                    gpu_stream_shape_name(shape), i);
    return rc;
}

static int stream_scan(struct bench_ctx *ctx)
{
    const struct stream *t = ctx->state;
    int rc = points_run(ctx, (size_t)TURNS * gpu_groups(t->ngpus), measure_point, emit_point);
    return rc ? rc : emit_choices(ctx);
}

/* Each operation once more, over a poisoned array. */
static int stream_check(struct bench_ctx *ctx)
{
    struct stream *t = ctx->state;
    char msg[GPU_MSG] = "";
    for (unsigned i = 0; i < t->ngpus; i++)
        for (unsigned turn = 0; turn < TURNS; turn++) {
            uint64_t wrong;
            double seconds = 0;
            struct stream_gpu *gpu = &t->gpus[i];
            int rc = gpu_error(gpu_stream_poison(gpu->gpu, msg, sizeof(msg)), msg, ctx->err);
            if (!rc)
                rc = run_batch(gpu, op_of(turn), gpu->shape[turn], 1, &seconds, ctx->err);
            if (!rc)
                rc = gpu_error(gpu_stream_check(gpu->gpu, op_of(turn), &wrong, msg, sizeof(msg)),
                               msg, ctx->err);
            if (rc)
                return rc;
            if (wrong)
                return err_set(ctx->err, -EBADMSG, "GPU %u, %s, %s: %llu wrong elements", i,
                               gpu_stream_op_name(op_of(turn)),
                               gpu_stream_shape_name(gpu->shape[turn]), (unsigned long long)wrong);
        }
    return 0;
}

#endif

const struct bench bench_gpu_stream = {
    .name = "gpu_stream",
    .summary = "bandwidth of each GPU's memory: copy, scale, add, triad, one GPU and all",
    .needs = NEED_GPU,
    .opts = stream_opts,
    .params_size = sizeof(struct stream_params),
    .metrics = stream_metrics,
    .probe = gpu_probe,
#ifdef CONTEND_HAVE_CUDA
    .setup = stream_setup,
    .scan = stream_scan,
    .check = stream_check,
    .teardown = stream_teardown,
#else
    .scan = gpu_probe,
#endif
};

/*
 * Bandwidth of each GPU's own memory: STREAM's kernels, reads and writes alone, and the driver's
 * copy.
 *
 * Each GPU runs alone, then all GPUs at once (with=all: they share power and cooling), one
 * operation at a time; each round has its own order. For each operation and GPU, setup chooses the
 * fastest shape of kernels/gpu/gpu_stream.h.
 *
 * **Measures** `device_bandwidth`, GB/s (1e9): elements x 16 B (copy, scale), 24 B (add, triad) or
 * 8 B (read, the sum of an array; write, of a constant), as STREAM counts, / time between device
 * events around a batch of about 10 ms of passes in sequence; the median over batches. The first
 * third of each point, 0.1 s at least, settles and does not count. with=all counts while all GPUs
 * work (bench/gpu/gpu_set.h). via=driver is cudaMemcpyAsync from device to device: the driver
 * decides how; on one GPU, mostly with its own kernel.
 * `stream_size`: bytes of each of the three arrays. `l2_share`: bytes of the L2 / of all three.
 * All elements of the output are poisoned before each point, and checked after the last timed
 * pass. A GPU that fails or computes wrongly is a failed row and is left out; the other GPUs are
 * measured.
 * **Source** kernels/gpu/gpu_stream.h names it.
 * **Limits** Arrays are 1 GiB, or four times the L2 if that is more; smaller if memory is short. If
 * an array has less than four times the bytes of the L2 (l2_share above 0.08), part of the traffic
 * stays in the L2; with less than twice, values are noisy.
 */
#include <errno.h>
#include <time.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/gpu/gpu.h"
#include "bench/gpu/gpu_set.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/log.h"
#include "kernels/gpu/gpu_stream.h"

struct stream_params {
    uint64_t size;
};

static const struct opt stream_opts[] = {
    OPT_SIZE("size", stream_params, size, NULL, GPU_STREAM_GRAIN, 1ull << 40, "BYTES",
             "bytes of each of three arrays; unset: 1 GiB, or what fits"),
    {.name = NULL},
};

enum { BY_OP = 1, BY_VIA, BY_WITH, BY_GPU };
enum { VIA_KERNEL, VIA_DRIVER };
enum { WITH_ALONE, WITH_ALL };
static const struct bench_dim stream_dims[] = {
    /* In the order of enum gpu_stream_op. */
    [BY_OP] = {"op", .labels = LABELS("copy", "scale", "add", "triad", "read", "write")},
    [BY_VIA] = {"via", .labels = LABELS("kernel", "driver")},
    [BY_WITH] = {"with", .labels = LABELS("alone", "all"),
                 .labels_long = LABELS("alone", "all at once")},
    [BY_GPU] = {"gpu", DIM_GPU},
    {.name = NULL},
};

enum { DEVICE_BANDWIDTH, STREAM_SIZE, L2_SHARE };
static const struct bench_metric stream_metrics[] = {
    [DEVICE_BANDWIDTH] = {"device_bandwidth", "GB/s", "higher", .peers = PEERS_EQUAL,
                          .gating = true},
    [STREAM_SIZE] = {"stream_size", "B", "none"},
    [L2_SHARE] = {"l2_share", "ratio", "none"},
    {.name = NULL},
};

static const struct figure_panel stream_panels[] = {
    {"device_bandwidth", "bandwidth (GB/s)", {BY_OP, BY_VIA}},
    {.metric = NULL},
};

static const struct bench_figure stream_figures[] = {
    {.name = "gpu_stream",
     .kind = FIGURE_DOTS,
     .metric = "device_bandwidth",
     .title = "bandwidth of the memory of each GPU",
     .how = "STREAM bytes, from device events",
     .x = {"GPU", BY_GPU},
     .split = BY_WITH,
     .nsplits = 2,
     .panels = stream_panels},
    {.name = NULL},
};

#ifdef CONTEND_HAVE_CUDA

enum {
    TURNS = GPU_STREAM_OPS + 1, /* the last is the driver's copy */
    BATCHES_MAX = 4096,         /* batches kept */
    TRIAL_PASSES = 4,
    TRIALS = 2
};

static const double batch_s = 0.01;
static const uint64_t usual_bytes = 1ull << 30;

struct stream_gpu {
    struct gpu_stream *gpu;
    uint64_t l2_bytes;
    unsigned shape[TURNS], passes[TURNS];
    double median_gbps[TURNS][2]; /* alone, with all */
    double *gbps;                 /* of the batches that count, in the current turn */
    size_t n;
};

struct stream {
    struct gpu_set set;
    struct stream_gpu gpus[GPU_SET_MAX];
    unsigned turn; /* current: an operation, or the driver's copy */
    uint64_t bytes;
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

/* Bytes of one array if three of them fill 90% of the free memory. */
static uint64_t room_of(uint64_t free_bytes)
{
    return free_bytes / 10 * 9 / 3;
}

/* Chooses a size that fits on the fullest GPU: results of different sizes are not comparable. */
static int choose_size(struct stream *t, const struct bench_ctx *ctx)
{
    const struct stream_params *params = ctx->params;
    uint64_t least_free = UINT64_MAX, most_l2 = 0;
    for (unsigned i = 0; i < t->set.n; i++) {
        uint64_t free_bytes = 0, *l2_bytes = &t->gpus[i].l2_bytes;
        int rc = gpu_set_has(&t->set, i) ? gpu_stream_memory(ctx->machine->gpus[i].pci_bdf,
                                                             &free_bytes, l2_bytes, &t->set.why)
                                         : 0;
        if (!rc && gpu_set_has(&t->set, i) && room_of(free_bytes) < GPU_STREAM_GRAIN) {
            rc = err_set(&t->set.why, -ENOMEM, "%llu bytes are free: too few for three arrays",
                         (unsigned long long)free_bytes);
        }
        (void)gpu_set_drop(&t->set, i, rc);
        if (!gpu_set_has(&t->set, i))
            continue;
        least_free = free_bytes < least_free ? free_bytes : least_free;
        most_l2 = *l2_bytes > most_l2 ? *l2_bytes : most_l2;
    }
    uint64_t fits = room_of(least_free), wants = params->size ? params->size : usual_bytes;
    if (!params->size && wants < 4 * most_l2)
        wants = 4 * most_l2;
    t->bytes = memory_round_down(wants < fits ? wants : fits, GPU_STREAM_GRAIN);
    if (t->bytes < wants)
        log_warn("gpu_stream: arrays of %llu MiB, since GPU memory is short",
                 (unsigned long long)(t->bytes >> 20));
    return gpu_set_check(&t->set, ctx->err);
}

/* Runs a batch on one GPU; 0, or an error. */
static int run_batch(const struct stream_gpu *gpu, enum gpu_stream_op op, unsigned shape,
                     unsigned passes, double *seconds, struct err *err)
{
    int rc = gpu_stream_queue(gpu->gpu, 0, op, shape, passes, err);
    return rc ? rc : gpu_stream_wait(gpu->gpu, 0, seconds, err);
}

/* GB/s of the fastest of some short batches, after one pass to warm up. */
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

static unsigned passes_for(const struct stream *t, enum gpu_stream_op op, double gbps)
{
    double pass_s = (double)t->bytes / sizeof(double) * gpu_stream_op_bytes(op) / (gbps * 1e9);
    double passes = gbps > 0 ? batch_s / pass_s : 1;
    return passes < 1 ? 1 : passes > 1000 ? 1000 : (unsigned)passes;
}

static int choose_shape(const struct stream *t, struct stream_gpu *gpu, enum gpu_stream_op op,
                        struct err *err)
{
    double best_gbps = 0, gbps;
    int rc = 0;
    for (unsigned shape = 0; shape < GPU_STREAM_SHAPES && !rc; shape++) {
        rc = try_shape(t, gpu, op, shape, &gbps, err);
        if (gbps <= best_gbps)
            continue;
        best_gbps = gbps;
        gpu->shape[op] = shape;
    }
    gpu->passes[op] = passes_for(t, op, best_gbps);
    return rc;
}

static int choose_shapes(const struct stream *t, struct stream_gpu *gpu, struct err *err)
{
    double driver_gbps = 0;
    int rc = 0;
    for (unsigned op = 0; op < GPU_STREAM_OPS && !rc; op++)
        rc = choose_shape(t, gpu, (enum gpu_stream_op)op, err);
    if (!rc)
        rc = try_shape(t, gpu, GPU_STREAM_COPY, GPU_STREAM_DRIVER, &driver_gbps, err);
    gpu->shape[GPU_STREAM_OPS] = GPU_STREAM_DRIVER;
    gpu->passes[GPU_STREAM_OPS] = passes_for(t, GPU_STREAM_COPY, driver_gbps);
    return rc;
}

static int open_gpu(struct stream *t, unsigned i, struct bench_ctx *ctx)
{
    struct stream_gpu *gpu = &t->gpus[i];
    const struct gpu_stream_config config = {
        .pci_bdf = ctx->machine->gpus[i].pci_bdf, .bytes = t->bytes, .seed = ctx->seed};
    gpu->gbps = bench_array(ctx, BATCHES_MAX, sizeof(*gpu->gbps));
    if (!gpu->gbps)
        return -ENOMEM;
    int rc = gpu_stream_open(&config, &gpu->gpu, &t->set.why);
    if (!rc)
        rc = choose_shapes(t, gpu, &t->set.why);
    (void)gpu_set_drop(&t->set, i, rc);
    return 0;
}

static int stream_setup(struct bench_ctx *ctx)
{
    struct stream *t = ctx->state;
    gpu_set_open(&t->set, ctx->machine);
    int rc = choose_size(t, ctx);
    for (unsigned i = 0; i < t->set.n && !rc; i++)
        if (gpu_set_has(&t->set, i))
            rc = open_gpu(t, i, ctx);
    return rc ? rc : gpu_set_check(&t->set, ctx->err);
}

static void stream_teardown(struct bench_ctx *ctx)
{
    struct stream *t = ctx->state;
    for (unsigned i = 0; i < t->set.n; i++)
        gpu_stream_close(t->gpus[i].gpu);
}

static int batch_queue(void *arg, unsigned gpu, unsigned slot)
{
    struct stream *t = arg;
    const struct stream_gpu *g = &t->gpus[gpu];
    return gpu_set_drop(&t->set, gpu,
                        gpu_stream_queue(g->gpu, slot, op_of(t->turn), g->shape[t->turn],
                                         g->passes[t->turn], &t->set.why));
}

static int batch_done(void *arg, unsigned gpu, unsigned slot, bool *done)
{
    struct stream *t = arg;
    return gpu_set_drop(&t->set, gpu, gpu_stream_done(t->gpus[gpu].gpu, slot, done, &t->set.why));
}

static int batch_take(void *arg, unsigned gpu, unsigned slot, bool counts)
{
    struct stream *t = arg;
    struct stream_gpu *g = &t->gpus[gpu];
    double seconds = 0;
    int rc = gpu_stream_wait(g->gpu, slot, &seconds, &t->set.why);
    if (rc)
        return gpu_set_drop(&t->set, gpu, rc);
    if (counts && g->n < BATCHES_MAX)
        g->gbps[g->n++] = gbps_of(t, op_of(t->turn), g->passes[t->turn], seconds);
    return 0;
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

/* Checks the output of the last timed pass; it was poisoned before the first pass. */
static void check_output(struct stream *t, unsigned i)
{
    const struct stream_gpu *gpu = &t->gpus[i];
    enum gpu_stream_op op = op_of(t->turn);
    uint64_t wrong = 0;
    int rc = gpu_stream_check(gpu->gpu, op, &wrong, &t->set.why);
    if (!rc && wrong) {
        rc = err_set(&t->set.why, -EBADMSG, "%s, %s: %llu wrong elements", gpu_stream_op_name(op),
                     gpu_stream_shape_name(gpu->shape[t->turn]), (unsigned long long)wrong);
    }
    (void)gpu_set_drop(&t->set, i, rc);
}

/* Poisons, runs and checks a batch of passes on the GPUs of the group that are in the set. */
static void run_group(struct stream *t, const struct gpu_group *group, double slice_s)
{
    struct gpu_overlap overlap = {.settle_s = gpu_settle_s(slice_s),
                                  .count_s = slice_s * 2 / 3,
                                  .depth = GPU_STREAM_SLOTS,
                                  .ops = &batch_ops,
                                  .arg = t};
    for (unsigned i = group->first; i < group->end; i++) {
        if (!gpu_set_has(&t->set, i))
            continue;
        int rc = gpu_stream_poison(t->gpus[i].gpu, &t->set.why);
        if (!gpu_set_drop(&t->set, i, rc))
            overlap.gpu[overlap.ngpus++] = i;
        t->gpus[i].n = 0;
    }
    (void)gpu_overlap_run(&overlap);
    for (unsigned i = group->first; i < group->end; i++)
        if (gpu_set_has(&t->set, i))
            check_output(t, i);
}

/* A point is a group and a turn. Repeats the point without GPUs that failed in it. */
static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct stream *t = ctx->state;
    struct gpu_group group = gpu_group_at(t->set.n, (unsigned)(point / TURNS));
    unsigned left;
    t->turn = (unsigned)(point % TURNS);
    do {
        left = gpu_set_left(&t->set);
        if (gpu_set_runs(&t->set, &group))
            run_group(t, &group, ctx->budget_s / (TURNS * gpu_groups(t->set.n)));
    } while (gpu_set_left(&t->set) < left);
    for (unsigned i = group.first; i < group.end; i++)
        t->gpus[i].median_gbps[t->turn][group.all] =
            stats_sort_median(t->gpus[i].gbps, t->gpus[i].n);
    return gpu_set_check(&t->set, ctx->err);
}

/* Why the L2 may raise a GPU's values; "" = it does not. */
static const char *format_doubt(const struct stream *t, unsigned i)
{
    return memory_doubt("arrays", t->bytes, "L2", t->gpus[i].l2_bytes);
}

static void emit_point(struct bench_ctx *ctx, size_t point)
{
    const struct stream *t = ctx->state;
    struct gpu_group group = gpu_group_at(t->set.n, (unsigned)(point / TURNS));
    unsigned turn = (unsigned)(point % TURNS);
    for (unsigned i = group.first; i < group.end && gpu_set_runs(&t->set, &group); i++)
        if (gpu_set_has(&t->set, i))
            bench_emit_doubt(ctx, DEVICE_BANDWIDTH, t->gpus[i].median_gbps[turn][group.all],
                             format_doubt(t, i),
                             DIMS({BY_OP, op_of(turn)},
                                  {BY_VIA, turn == GPU_STREAM_OPS ? VIA_DRIVER : VIA_KERNEL},
                                  {BY_WITH, group.all ? WITH_ALL : WITH_ALONE}, {BY_GPU, i}));
}

static int stream_scan(struct bench_ctx *ctx)
{
    const struct stream *t = ctx->state;
    int rc = points_run(ctx, (size_t)TURNS * gpu_groups(t->set.n), measure_point, emit_point);
    if (rc)
        return rc;
    bench_emit(ctx, STREAM_SIZE, (double)t->bytes, NO_DIMS);
    for (unsigned i = 0; i < t->set.n; i++) {
        if (!gpu_set_has(&t->set, i))
            continue;
        bench_emit(ctx, L2_SHARE, (double)t->gpus[i].l2_bytes / (3 * (double)t->bytes),
                   DIMS({BY_GPU, i}));
    }
    gpu_set_emit(ctx, &t->set, DEVICE_BANDWIDTH, BY_GPU);
    return 0;
}

#endif

const struct bench bench_gpu_stream = {
    .name = "gpu_stream",
    .summary = "bandwidth of each GPU's memory: STREAM, reads and writes alone, one GPU and all",
    .needs = NEED_GPU,
    .opts = stream_opts,
    .params_size = sizeof(struct stream_params),
    .metrics = stream_metrics,
    .figures = stream_figures,
    .dims = stream_dims,
    .probe = gpu_probe,
#ifdef CONTEND_HAVE_CUDA
    .state_size = sizeof(struct stream),
    .setup = stream_setup,
    .scan = stream_scan,
    .teardown = stream_teardown,
#else
    .scan = gpu_probe,
#endif
};

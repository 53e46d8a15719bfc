/*
 * How many loaders feed a GPU: 1, 2, 4 ... loaders, up to twice the CPUs, preprocess batches for a
 * worker that copies them to its device. Loaders are processes or threads in C or in Python, or
 * workers of PyTorch.
 *
 * Each point is a slice of time in which a number of loaders of one kind make batches in
 * page-locked shared memory (load.h), from which the device copies them. A batch is that of
 * `pipeline`, made by one thread. Loaders in Python process the first `python_rows` rows, value by
 * value, and copy the other rows.
 *
 * With source=file, loaders in C read the raw data of each batch from a disk, and keep it out of
 * the page cache; with source=tmpfs, from a file in memory. If the device starves as much with
 * source=tmpfs, storage is not the cause.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `starvation` = share of time in which the device has done
 * all its batches and no batch is ready; `batches` = batches a second of all workers; `first_batch`
 * = from the loaders' start to the first batch, with Python's start, without PyTorch's import; mean
 * over workers. `read_rate` = MB (1e6 bytes) a second that all loaders read from files. The first
 * third of a slice does not count, and batches made before the slice are dropped.
 * `loaders_needed` of a kind: the smallest number with a starvation of at most 2%. `scaling` =
 * `batches` of the best number / of one loader; the device limits it. `more_loaders` = `batches` of
 * the largest number / of the best smaller number.
 * **Source** torch.utils.data.DataLoader (num_workers, prefetch_factor, pin_memory,
 * persistent_workers) has the same parts; Mohan et al., "Analyzing and Mitigating Data Stalls in
 * DNN Training", VLDB 14 (2021), the share of time lost to them. The interpreter's lock: PEP 703.
 * **Limits** No decoding; files are read in whole batches, nearly in order. If no batch is ready,
 * the worker first waits for the device, then for loaders: if loaders are just too slow, the copy
 * is not hidden. PyTorch's batches need one more copy, from its memory to ours. `pipeline` checks
 * the device's result, not this benchmark.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/common/memory_node.h"
#include "bench/common/points.h"
#include "bench/feed/feed.h"
#include "bench/loader/feeding.h"
#include "bench/loader/resources.h"
#include "bench/registry.h"

enum { CALIBRATIONS = 5 };

/* A shorter slice holds too few batches of a loader that needs 20 ms for one. */
static const double share_least_s = 0.25;
/*
 * Time for all points before the scan counts as hung: half of the shortest time limit of a run, or
 * this many budgets if that is more (harness/engine/times.c).
 */
static const double room_least_s = 6, room_of_budget = 8;
/* Before a batch of PyTorch counts, each of its workers makes two batches. A slice is long enough
 * for this many workers per second of it. */
static const double pytorch_per_s = 32;

/* If a larger share of the file stays in the page cache, reads do not show its device. */
static const double cached_most = 0.02;

/* "all", then as enum load_mode. */
static const char *const mode_names[] = {
    "all", "process", "thread", "python-process", "python-thread", "python-free", "pytorch", NULL};

enum { BY_LANG = 1, BY_WHOM, BY_LOADERS };
enum { LANG_C, LANG_PYTHON, LANG_PYTORCH };
enum { WHOM_PROCESS, WHOM_THREAD, WHOM_FREE };
static const struct bench_dim loader_dims[] = {
    [BY_LANG] = {"lang", .labels = LABELS("c", "python", "pytorch"),
                 .labels_long = LABELS("C", "Python", "PyTorch")},
    [BY_WHOM] = {"by", .labels = LABELS("process", "thread", "free"),
                 .labels_long = LABELS("processes", "threads", "threads without a lock")},
    [BY_LOADERS] = {"loaders"},
    {.name = NULL},
};

/* Dimensions of the values of each mode. */
static const struct dims mode_dims[LOAD_MODES] = {
#define AT(lang, whom)                                                                             \
    {                                                                                              \
        .of = {{BY_LANG, (lang)}, {BY_WHOM, (whom)}}, .n = 2                                       \
    }
    [LOAD_PROCESS] = AT(LANG_C, WHOM_PROCESS),
    [LOAD_THREAD] = AT(LANG_C, WHOM_THREAD),
    [LOAD_PYTHON_PROCESS] = AT(LANG_PYTHON, WHOM_PROCESS),
    [LOAD_PYTHON_THREAD] = AT(LANG_PYTHON, WHOM_THREAD),
    [LOAD_PYTHON_FREE] = AT(LANG_PYTHON, WHOM_FREE),
    [LOAD_PYTORCH] = AT(LANG_PYTORCH, WHOM_PROCESS),
#undef AT
};

struct loader_params {
    struct batch_params batch;
    int64_t loaders, prefetch, epoch, python_rows;
    bool pinned, persistent;
    int mode, where, source, prep, mask;
    double gpu_ms, sim_gbps;
};

static const struct opt loader_opts[] = {
    OPT_CHOICE("mode", loader_params, mode, "all", mode_names, "KIND", "what a loader is"),
    OPT_INT("loaders", loader_params, loaders, "0", 0, LOADERS_MOST, "N",
            "loaders of each worker; 0: 1, 2, 4 ... up to twice its CPUs"),
    OPT_INT("prefetch", loader_params, prefetch, "0", 0, FEEDING_PREFETCH_MOST, "N",
            "batches that are ready or in the making; 0: two a loader"),
    OPT_FLAG("pinned", loader_params, pinned, "1",
             "1: copy from page-locked memory, 0: from ordinary memory"),
    OPT_FLAG("persistent", loader_params, persistent, "1",
             "0: loaders are started anew in each epoch"),
    OPT_INT("epoch", loader_params, epoch, "32", 1, 1000000, "N",
            "batches of an epoch, with persistent=0"),
    OPT_CHOICE("where", loader_params, where, "slice", loader_where_names, "CPUS",
               "loaders on their worker's CPUs, or on those that no worker has"),
    OPT_CHOICE("source", loader_params, source, "memory", source_names, "WHERE",
               "raw data in memory, or in a file in the working directory or in /dev/shm"),
    OPT_CHOICE(
        "prep", loader_params, prep, "cpu", feed_preps, "WHERE",
        "where batches are preprocessed; gpu: loaders in C only copy them, and gpu_ms is all "
        "of the device's work"),
    OPT_CHOICE("mask", loader_params, mask, "keep", loader_mask_names, "WHO",
               "loader processes keep their CPUs, or are narrowed to the worker's first core: "
               "by themselves, or by the parent that they inherit from"),
    OPT_DOUBLE("gpu_ms", loader_params, gpu_ms, "8", 0.001, 10000, "MS",
               "time that the device works on a batch"),
    OPT_INT("python_rows", loader_params, python_rows, "256", 1, 1 << 30, "N",
            "rows of a batch that Python goes over"),
    OPT_DOUBLE("sim_gbps", loader_params, sim_gbps, "25", 0.001, 1e6, "X",
               "device sim: GB/s of its link (1e9 bytes)"),
    BATCH_OPTS,
    {.name = NULL},
};

enum { STARVATION, BATCHES, FIRST_BATCH, NEEDED, SCALING, MORE, READ_RATE, GPU_BATCH };
static const struct bench_metric loader_metrics[] = {
    [STARVATION] = {"starvation", "ratio", "lower", .gating = true},
    [BATCHES] = {"batches", "1/s", "higher"},
    [FIRST_BATCH] = {"first_batch", "ms", "lower"},
    [NEEDED] = {"loaders_needed", "loaders", "lower"},
    [SCALING] = {"scaling", "ratio", "higher"},
    [MORE] = {"more_loaders", "ratio", "higher",
              .below_one = "the most loaders make fewer batches than a smaller number: they are in "
                           "each other's way, so set fewer"},
    [READ_RATE] = {"read_rate", "MB/s", "higher"},
    [GPU_BATCH] = {"gpu_batch", "ms", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure loader_figures[] = {
    {.name = "loader_starvation",
     .kind = FIGURE_LINES,
     .metric = "starvation",
     .title = "share of the time in which GPUs wait for batches, by number of loaders",
     .note = "waits: the GPU has nothing to do, and no batch is ready",
     .x = {"loaders of a worker", BY_LOADERS, .log = true},
     .y = {"share of the time"},
     .series = {BY_LANG, BY_WHOM}},
    {.name = "loader_batches",
     .kind = FIGURE_LINES,
     .metric = "batches",
     .title = "batches a second, by number of loaders",
     .note = "at most what the GPUs take",
     .x = {"loaders of a worker", BY_LOADERS, .log = true},
     .y = {"batches of all workers (1/s, log scale)", .log = true},
     .series = {BY_LANG, BY_WHOM}},
    {.name = NULL},
};

struct loader {
    struct batches batches;
    struct load load;
    struct resources resources;
    struct feeding feeding;
    struct feeding_result *results; /* of each worker */
    float *scratch;                 /* a batch */
    unsigned ncounts, counts[SWEEP_COUNTS_MOST];
    size_t npoints;
    struct point points[SWEEP_POINTS_MOST];
    double share_s;
};

static bool is_measured(const struct loader *loader, const struct bench_ctx *ctx,
                        enum load_mode mode)
{
    const struct loader_params *params = ctx->params;
    return points_asked(params->mode, mode) && !loader->resources.own.absent[mode].code;
}

static void list_counts(struct loader *loader, const struct bench_ctx *ctx)
{
    unsigned ncpus = loader->resources.own.ncpus, cpus = ncpus ? ncpus : 1, kinds = 0;
    for (int mode = 0; mode < LOAD_MODES; mode++)
        kinds += is_measured(loader, ctx, (enum load_mode)mode);
    loader->ncounts =
        sweep_counts(2 * cpus < LOADERS_MOST ? 2 * cpus : LOADERS_MOST, kinds, share_least_s,
                     fmax(room_least_s, room_of_budget * ctx->budget_s), loader->counts);
}

static void list_points(struct loader *loader, const struct bench_ctx *ctx)
{
    const struct loader_params *params = ctx->params;
    if (params->loaders)
        loader->counts[loader->ncounts++] = (unsigned)params->loaders;
    else
        list_counts(loader, ctx);
    for (int mode = 0; mode < LOAD_MODES; mode++)
        for (unsigned i = 0; i < loader->ncounts; i++)
            if (is_measured(loader, ctx, (enum load_mode)mode))
                loader->points[loader->npoints++] =
                    (struct point){.mode = (enum load_mode)mode, .loaders = loader->counts[i]};
    double share_s = loader->npoints ? ctx->budget_s / (double)loader->npoints : 0;
    loader->share_s = fmax(share_s, share_least_s);
}

static int open_batches(struct loader *loader, struct bench_ctx *ctx)
{
    const struct loader_params *params = ctx->params;
    struct bench_ctx one = *ctx;
    one.threads = 1; /* a team of libgomp does not survive the fork */
    one.least_team = NULL;
    one.cpu_samples = NULL;
    int rc = batches_open(&loader->batches, &params->batch, &one);
    ctx->buffer = one.buffer;
    ctx->buffer_bytes = one.buffer_bytes;
    loader->load.batches = &loader->batches;
    int64_t rows = params->batch.rows;
    loader->load.python_rows = params->python_rows < rows ? params->python_rows : rows;
    return rc ? rc : batches_allocate(&loader->scratch, loader->batches.cells, ctx->err);
}

static int open_device(struct loader *loader, const struct bench_ctx *ctx, unsigned work)
{
    const struct loader_params *params = ctx->params;
    struct queue *queue = &loader->feeding.queue;
    float *host[FEEDING_SLOTS_MOST];
    for (unsigned s = 0; s < queue->slots; s++)
        host[s] = queue_slot(queue, s);
    const struct device_config config = {
        .kind = ctx->device,
        .pci_bdf = ctx->pci_bdf,
        .machine = ctx->machine,
        .rows = loader->batches.prep.rows,
        .cols = loader->batches.prep.cols,
        .slots = queue->slots,
        .work = work,
        .pinned = params->pinned,
        .os_node = memory_node_home(ctx->machine),
        .host = host,
        .sim_gbps = params->sim_gbps,
        .sim_work_us = params->gpu_ms * 1e3,
    };
    return device_open(&loader->feeding.device, &config, ctx->err);
}

static int loader_validate(const void *params, struct err *err)
{
    const struct loader_params *loader = params;
    bool has_processes =
        loader->mode == LOAD_PROCESS + 1 || loader->mode == LOAD_PYTHON_PROCESS + 1;
    if (loader->mask != MASK_KEEP && (!has_processes || loader->where == WHERE_REST))
        return err_set(err, -EINVAL,
                       "mask=%s needs mode=process or mode=python-process, and where=slice",
                       loader_mask_names[loader->mask]);
    return batches_validate(params, err);
}

static int loader_setup(struct bench_ctx *ctx)
{
    const struct loader_params *params = ctx->params;
    struct loader *loader = ctx->state;
    struct feeding *feeding = &loader->feeding;
    const struct resource_choice choice = {.mode = params->mode,
                                           .source = (enum source)params->source,
                                           .raw = params->prep,
                                           .where = (enum loader_where)params->where,
                                           .mask = (enum loader_mask)params->mask};
    loader->load.begin_fds[0] = loader->load.begin_fds[1] = -1;
    loader->load.queue = &feeding->queue;
    feeding->prefetch = (unsigned)params->prefetch;
    feeding->epoch = params->persistent ? 0 : (uint32_t)params->epoch;
    loader->results = bench_array(ctx, ctx->peers->size, sizeof(*loader->results));
    if (!loader->results)
        return -ENOMEM;
    int rc = open_batches(loader, ctx);
    if (!rc)
        rc = resources_open(&loader->resources, &choice, &loader->load, ctx);
    if (rc)
        return rc;
    list_points(loader, ctx);
    if (!rc)
        rc = queue_open(&feeding->queue, loader->batches.cells,
                        feeding_slots(feeding->prefetch, loader->counts[loader->ncounts - 1]),
                        loader->batches.sources, ctx->err);
    if (!rc && pipe2(loader->load.begin_fds, O_CLOEXEC))
        rc = err_sys(ctx->err, -errno, "cannot make a pipe");
    if (!rc)
        rc = loader_pool_open(&feeding->loader_pool, &loader->load, ctx->err);
    /* After the fork: even asking for a GPU initialises CUDA, which does not survive a fork. */
    return rc ? rc : open_device(loader, ctx, 1);
}

static void loader_teardown(struct bench_ctx *ctx)
{
    struct loader *loader = ctx->state;
    loader_pool_close(&loader->feeding.loader_pool);
    device_close(&loader->feeding.device);
    queue_close(&loader->feeding.queue);
    for (int end = 0; end < 2; end++)
        if (loader->load.begin_fds[end] >= 0)
            (void)close(loader->load.begin_fds[end]);
    resources_close(&loader->resources);
    batches_close(&loader->batches);
    free(loader->scratch);
}

/* The shortest of some times that the device works on a batch, alone, in ms. */
static int time_device(struct loader *loader, const struct bench_ctx *ctx, double *ms)
{
    struct device_queue *device = &loader->feeding.device;
    struct device_took took = {0};
    int rc = 0;
    *ms = INFINITY;
    for (int i = 0; i < CALIBRATIONS && !rc; i++) {
        rc = device_submit(device, 0, ctx->err);
        if (!rc)
            rc = device_wait(device, 0, &took, ctx->err);
        *ms = fmin(*ms, 1e-6 * (double)took.work_ns);
    }
    return rc;
}

/* Gives a real GPU as many passes as take gpu_ms; one by one, since workers may share a GPU. */
static int calibrate(struct loader *loader, const struct bench_ctx *ctx)
{
    const struct loader_params *params = ctx->params;
    int rc = 0;
    for (unsigned rank = 0; rank < ctx->peers->size && !rc; rank++) {
        double ms = params->gpu_ms;
        if (rank == ctx->peers->rank && ctx->device != DEVICE_SIM) {
            rc = time_device(loader, ctx, &ms);
            double work = ms > 0 ? round(params->gpu_ms / ms) : 1;
            if (!rc && work > 1) {
                device_close(&loader->feeding.device);
                rc = open_device(loader, ctx, work < 1e6 ? (unsigned)work : 1000000);
            }
        }
        if (!rc)
            rc = peers_barrier(ctx->peers, ctx->err);
    }
    return rc;
}

static int measure_point(struct bench_ctx *ctx, size_t index)
{
    struct loader *loader = ctx->state;
    struct feeding *feeding = &loader->feeding;
    struct point *point = &loader->points[index];
    struct feeding_result mine;
    const struct loader_params *params = ctx->params;
    if (point->mode == LOAD_PYTORCH && !params->loaders &&
        point->loaders > pytorch_per_s * loader->share_s) {
        (void)err_set(&point->result.err, -ENOTSUP,
                      "%u workers of PyTorch are not at work within %.2g s: --time gives more",
                      point->loaders, loader->share_s);
        return 0;
    }
    double cached =
        loader->load.file ? source_evict(loader->load.file, (enum source)params->source) : 0;
    int rc = feeding_run(feeding, ctx, point->mode, point->loaders, loader->share_s, &mine);
    mine.cached = cached;
    if (!rc && !mine.err.code && feeding->last.slot != QUEUE_END)
        mine.err.code =
            verify_batch(&loader->load, point->mode, feeding->last, loader->scratch, &mine.err);
    if (!rc)
        rc = peers_gather(ctx->peers, &mine, loader->results, sizeof(mine), ctx->err);
    if (!rc)
        sweep_join(point, loader->results, ctx->peers->size);
    return rc;
}

static void emit_point(struct bench_ctx *ctx, size_t index)
{
    const struct loader *loader = ctx->state;
    const struct point *point = &loader->points[index];
    const struct dims at = dims_with(mode_dims[point->mode], BY_LOADERS, point->loaders);
    struct err absent = point->result.err;
    char doubt[64] = "";
    if (!absent.code && !sweep_has_values(point))
        (void)err_set(&absent, -ENOTSUP, "%u %s were not at work within %.2g s: --time gives more",
                      point->loaders, load_mode_titles[point->mode], loader->share_s);
    if (bench_emit_absent(ctx, STARVATION, &absent, at))
        return;
    bench_emit(ctx, STARVATION, sweep_starvation(point), at);
    bench_emit(ctx, BATCHES, point->result.batches, at);
    if (point->result.cached > cached_most)
        (void)snprintf(doubt, sizeof(doubt), "%.0f%% of the file was in the page cache",
                       100 * point->result.cached);
    if (loader->load.file)
        bench_emit_doubt(ctx, READ_RATE, 1e-6 * point->result.read_rate, doubt, at);
    if (isfinite(point->result.first_s))
        bench_emit(ctx, FIRST_BATCH, 1e3 * point->result.first_s, at);
}

static void emit_verdict(struct bench_ctx *ctx, const struct point *points, size_t n)
{
    const struct dims at = mode_dims[points[0].mode];
    const struct sweep_verdict verdict = sweep_judge(points, n);
    struct err none;
    if (!verdict.n)
        return;
    if (verdict.needed < verdict.n)
        bench_emit(ctx, NEEDED, points[verdict.needed].loaders, at);
    else {
        (void)err_set(&none, -ENOTSUP, "%s: up to %u do not feed the GPU",
                      load_mode_titles[points[0].mode], points[verdict.n - 1].loaders);
        (void)bench_emit_absent(ctx, NEEDED, &none, at);
    }
    bench_emit(ctx, SCALING, verdict.scaling, at);
    bench_emit(ctx, MORE, verdict.more, at);
}

static void emit_kinds(struct bench_ctx *ctx)
{
    const struct loader_params *params = ctx->params;
    const struct loader *loader = ctx->state;
    const struct feeding *feeding = &loader->feeding;
    for (size_t first = 0; first < loader->npoints; first += loader->ncounts)
        emit_verdict(ctx, &loader->points[first], loader->ncounts);
    for (int mode = 0; mode < LOAD_MODES; mode++)
        if (points_asked(params->mode, (unsigned)mode))
            (void)bench_emit_absent(ctx, STARVATION, &loader->resources.own.absent[mode],
                                    mode_dims[mode]);
    if (feeding->gpu_batches)
        bench_emit(ctx, GPU_BATCH, 1e3 * feeding->gpu_s / (double)feeding->gpu_batches, NO_DIMS);
}

static int loader_scan(struct bench_ctx *ctx)
{
    struct loader *loader = ctx->state;
    int rc = calibrate(loader, ctx);
    if (!rc)
        rc = points_run(ctx, loader->npoints, measure_point, emit_point);
    if (!rc)
        emit_kinds(ctx);
    return rc;
}

/* Each point has compared a loader's batch with ours: this checks ours. */
static int loader_check(struct bench_ctx *ctx)
{
    struct loader *loader = ctx->state;
    struct sample sample = {0};
    batches_poison(&loader->batches);
    batches_poison_target(&loader->batches, loader->scratch);
    batches_prepare(&loader->batches, 1, loader->scratch, &sample);
    return batches_check(&loader->batches, 1, loader->scratch, ctx->err);
}

const struct bench bench_loader = {
    .name = "loader",
    .summary = "how many loaders feed a GPU: processes, threads, Python's, PyTorch's",
    .needs = NEED_DEVICE,
    .opts = loader_opts,
    .params_size = sizeof(struct loader_params),
    .metrics = loader_metrics,
    .figures = loader_figures,
    .dims = loader_dims,
    .gang = true,
    .validate = loader_validate,
    .state_size = sizeof(struct loader),
    .setup = loader_setup,
    .scan = loader_scan,
    .check = loader_check,
    .teardown = loader_teardown,
};

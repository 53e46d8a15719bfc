/*
 * Preprocessing on the CPU that feeds a GPU: the data path of one training worker.
 *
 * A step preprocesses a raw batch (kernels/prep/prep.h: each operation is an OpenMP region) into a
 * buffer of the device and queues its copy and its GPU work (kernels/gpu/gpu_step.h, or the model
 * in device/device_sim.c). If more than `prefetch` batches are then in flight, it waits for the
 * oldest.
 *
 * **Measures** steps on the harness's clock: ops = rows of the batches submitted, bytes = 4 rows
 * cols a step, copied to the device; device_ns = time the device worked, without copies, on the
 * batches that were waited for in the step (CUDA events; in sim the model's time).
 * The stages (feed.h) add up to the step. With `prep=gpu` the CPU only copies the raw batch. The
 * same operations run on the GPU (kernels/prep/prep_gpu.h), checked like the CPU's, and count in
 * device_ns. With `overlap=0` a batch is copied after the work on the previous batch.
 * `regions_per_step` and `region_work` (batch.h) say how fine the regions are: the finer, the more
 * unpinned spinning teams slow each other down.
 * **Source** kernels/prep/prep.h and kernels/gpu/gpu_step.h name theirs. Regions span the whole
 * batch, one operation each, as in frameworks: a step of 13 operations of eager PyTorch 2.11 on a
 * batch of 2048 x 512 floats has 15 regions, each 1.2 ms of one thread's work (each element-wise
 * operation, reduction and product is a region; at::parallel_for stays serial below GRAIN_SIZE,
 * 32,768 elements). Ours are fused: 5 regions of 2 ms. Placed by `partition`, two plain PyTorch
 * workers (tests/peers) have 18.6 times the throughput of `none` on one H100 with 16 CPUs, and 20.3
 * times on two H200s with 32; ours have 11.8 and 19.5 times. With `block=64`, which makes 160
 * regions of 63 us as in hand-written loops, ours have 349 times on that H100.
 * With `busy=5` one thread spins after each step for 5% of the step's time without run-queue wait:
 * a slowdown of known size, to test what `contend ab` can detect.
 * **Limits** The raw data is in memory: no disk, no decoding. Four raw batches take turns, so small
 * batches stay in the cache. Copies back are one row a step.
 */
#include <math.h>

#include "bench/feed/feed.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/sys/task.h"

struct pipeline_params {
    struct feed_params feed;
    bool overlap;
    double busy; /* percent */
};

static const struct opt pipeline_opts[] = {
    FEED_OPTS,
    OPT_FLAG("overlap", pipeline_params, overlap, "1",
             "1: a batch is copied while the device works on the one before, 0: behind that"),
    OPT_DOUBLE("busy", pipeline_params, busy, "0", 0, 1000, "PERCENT",
               "keeps a CPU busy behind each step, so long as makes the step longer by this",
               .level = OPT_HIDDEN),
    {.name = NULL},
};

struct pipeline {
    struct feed feed;
    double busy; /* share */
};

static int pipeline_probe(struct bench_ctx *ctx)
{
    return device_probe(ctx->device, ctx->err);
}

static int pipeline_setup(struct bench_ctx *ctx)
{
    const struct pipeline_params *params = ctx->params;
    struct pipeline *pipeline = ctx->state;
    pipeline->busy = params->busy / 100;
    struct feed_params feed = params->feed;
    feed.in_order = !params->overlap;
    return feed_open(&pipeline->feed, &feed, ctx);
}

/* Clocks of a thread when a step began. */
struct thread_clocks {
    uint64_t wall_ns, queue_ns; /* queue_ns: its run-queue wait so far; 0 = not known */
};

static struct thread_clocks read_clocks(void)
{
    char text[PROC_TEXT_MAX];
    struct thread_clocks clocks = {.wall_ns = clock_now_ns()};
    struct task_times times;
    if (PROC_TEXT("", text, "/proc/thread-self/schedstat") && task_parse_times(text, &times))
        clocks.queue_ns = times.wait_ns;
    return clocks;
}

/*
 * A slowdown of known size: uses CPU time, `share` of the step's time without run-queue wait. Other
 * threads on the CPU then lengthen step and slowdown alike.
 */
static void keep_busy(double share, const struct thread_clocks *since)
{
    struct thread_clocks end = read_clocks();
    double took_ns = (double)(end.wall_ns - since->wall_ns);
    double own_ns = took_ns - (double)(end.queue_ns - since->queue_ns);
    uint64_t until_ns = clock_thread_cpu_ns() + (uint64_t)(fmax(own_ns, 0) * share);
    while (clock_thread_cpu_ns() < until_ns)
        continue;
}

static int pipeline_step(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    struct pipeline *pipeline = ctx->state;
    sample->iters = sample->ops = sample->bytes = sample->device_ns = 0;
    for (uint64_t i = 0; i < iters; i++) {
        struct thread_clocks since = {0};
        stage_start(ctx->stages);
        if (pipeline->busy > 0)
            since = read_clocks();
        stage_mark(ctx->stages, FEED_OTHER);
        int rc = feed_step(&pipeline->feed, sample, ctx);
        if (rc)
            return rc;
        if (pipeline->busy > 0)
            keep_busy(pipeline->busy, &since);
        stage_mark(ctx->stages, FEED_OTHER);
    }
    return 0;
}

static int pipeline_check(struct bench_ctx *ctx)
{
    struct pipeline *pipeline = ctx->state;
    int rc = feed_check(&pipeline->feed, ctx);
    if (!rc && !ctx->worker)
        feed_report(&pipeline->feed, 0, ctx);
    return rc;
}

static const struct bench_metric pipeline_metrics[] = {FEED_METRICS, {.name = NULL}};

static const struct bench_stage pipeline_stages[] = {FEED_STAGES, {.name = NULL}};

const struct bench bench_pipeline = {
    .name = "pipeline",
    .summary = "preprocess batches on the CPU, copy them to a GPU and work on them there",
    .ops_unit = "items",
    .needs = NEED_DEVICE,
    .opts = pipeline_opts,
    .params_size = sizeof(struct pipeline_params),
    .metrics = pipeline_metrics,
    .stages = pipeline_stages,
    .validate = batches_validate,
    .probe = pipeline_probe,
    .state_size = sizeof(struct pipeline),
    .setup = pipeline_setup,
    .step = pipeline_step,
    .check = pipeline_check,
};

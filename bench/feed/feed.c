#include "bench/feed/feed.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/common/memory_node.h"
#include "kernels/cpu/mix64.h"
#include "kernels/gpu/gpu_ref.h"

/* Indices in FEED_METRICS. */
enum {
    SIM_OVERSHOOT = BATCH_METRICS_COUNT,
    BUFFER_ON_NODE,
    GPU_COMPUTE_SHARE,
    GPU_MEMORY_SHARE,
};

enum { GPU_SAMPLES = 4 }; /* rows of the GPU's result that check compares */

const char *const feed_waits[] = {"spin", "block", NULL};
const char *const feed_preps[] = {"cpu", "gpu", NULL};

static unsigned slot_count(const struct feed *feed)
{
    return feed->prefetch + 1;
}

static int open_device(struct feed *feed, const struct feed_params *params,
                       const struct bench_ctx *ctx)
{
    const struct prep_gpu_params prep = prep_gpu_params_of(&feed->batches.prep);
    const struct device_config config = {
        .kind = ctx->device,
        .pci_bdf = ctx->pci_bdf,
        .machine = ctx->machine,
        .rows = feed->batches.prep.rows,
        .cols = feed->batches.prep.cols,
        .slots = slot_count(feed),
        .work = feed->work,
        .pinned = params->pinned,
        .spin = params->wait == FEED_WAIT_SPIN,
        .os_node = memory_node_home(ctx->machine),
        .sim_gbps = params->sim_gbps,
        .sim_work_us = params->sim_work_us,
        .in_order = params->in_order,
        .prep = feed->raw ? &prep : NULL,
        .sim_prep_us = params->sim_prep_us,
    };
    return device_open(&feed->device, &config, ctx->err);
}

static void close_feed(void *arg)
{
    struct feed *feed = arg;
    device_close(&feed->device);
    batches_close(&feed->batches);
}

int feed_open(struct feed *feed, const struct feed_params *params, struct bench_ctx *ctx)
{
    feed->prefetch = (unsigned)params->prefetch;
    feed->work = (unsigned)params->gpu_work;
    feed->raw = params->prep == FEED_PREP_GPU;
    int rc = bench_at_close(ctx, close_feed, feed);
    if (!rc)
        rc = batches_open(&feed->batches, &params->batch, ctx);
    if (!rc)
        rc = open_device(feed, params, ctx);
    for (unsigned s = 0; !rc && s <= feed->prefetch; s++)
        batches_poison_target(&feed->batches, device_host_buffer(&feed->device, s));
    return rc;
}

static unsigned slot_of(const struct feed *feed, uint64_t batch)
{
    return (unsigned)(batch % slot_count(feed));
}

static float *target_of(struct feed *feed, uint64_t batch)
{
    return device_host_buffer(&feed->device, slot_of(feed, batch));
}

/* Divides the wait for a batch that has just ended into stages, backwards from its end. */
static void mark_wait(struct stage_clock *stages, const struct device_took *took)
{
    uint64_t left_ns = stage_mark(stages, FEED_WAIT);
    uint64_t work_ns = took->work_ns < left_ns ? took->work_ns : left_ns;
    left_ns -= stage_move(stages, FEED_WAIT, FEED_KERNEL, work_ns);
    left_ns -= stage_move(stages, FEED_WAIT, FEED_PREPARE,
                          took->prep_ns < left_ns ? took->prep_ns : left_ns);
    (void)stage_move(stages, FEED_WAIT, FEED_COPY,
                     took->copy_ns < left_ns ? took->copy_ns : left_ns);
}

/* Waits for the oldest batches until at most `in_flight` are left; adds to sample->device_ns. */
static int feed_drain(struct feed *feed, uint64_t in_flight, struct sample *sample,
                      const struct bench_ctx *ctx)
{
    while (feed->submitted - feed->retired > in_flight) {
        struct device_took took = {0};
        int rc = device_wait(&feed->device, slot_of(feed, feed->retired), &took, ctx->err);
        if (rc)
            return rc;
        feed->retired++;
        sample->device_ns += took.prep_ns + took.work_ns;
        feed->device_ns += ctx->measuring ? took.prep_ns + took.work_ns : 0;
        feed->device_batches += ctx->measuring;
        mark_wait(ctx->stages, &took);
    }
    return 0;
}

int feed_submit(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx)
{
    uint64_t batch = feed->submitted;
    if (feed->raw)
        batches_copy(&feed->batches, batch, target_of(feed, batch), sample);
    else
        batches_prepare(&feed->batches, batch, target_of(feed, batch), sample);
    if (feed->raw)
        stage_mark(ctx->stages, FEED_READ);
    int rc = device_submit(&feed->device, slot_of(feed, batch), ctx->err);
    if (rc)
        return rc;
    stage_mark(ctx->stages, FEED_SUBMIT);
    feed->submitted++;
    sample->bytes += feed->batches.cells * sizeof(float);
    return 0;
}

int feed_wait(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx)
{
    struct device_sleep before = device_slept(&feed->device);
    int rc = feed_drain(feed, feed->prefetch, sample, ctx);
    struct device_sleep after = device_slept(&feed->device);
    if (ctx->measuring) {
        feed->slept.asked_ns += after.asked_ns - before.asked_ns;
        feed->slept.over_ns += after.over_ns - before.over_ns;
    }
    return rc;
}

int feed_step(struct feed *feed, struct sample *sample, const struct bench_ctx *ctx)
{
    int rc = feed_submit(feed, sample, ctx);
    return rc ? rc : feed_wait(feed, sample, ctx);
}

/* Checks one row of the device's result. x: the input of the passes; scratch: 2 cols doubles. */
static int check_device_row(struct feed *feed, const float *x, size_t row, const float *weights,
                            double *scratch, struct err *err)
{
    size_t cols = feed->batches.prep.cols;
    x += row * cols;
    const double *want = gpu_ref_row(x, weights, cols, feed->work, scratch, scratch + cols);
    double limit = gpu_ref_limit(x, cols, feed->work);
    float *got = feed->batches.out.transformed; /* reused: the host's part is checked already */
    int rc = device_read(&feed->device, row, 1, got, err);
    for (size_t c = 0; c < cols && !rc; c++)
        if (!(fabs((double)got[c] - want[c]) <= limit))
            rc = err_set(err, -EBADMSG, "device result[%zu][%zu] is %.9g, not %.9g +- %.2g", row, c,
                         (double)got[c], want[c], limit);
    return rc;
}

static int check_device(struct feed *feed, const float *x, struct err *err)
{
    size_t cols = feed->batches.prep.cols;
    float *weights = malloc(cols * cols * sizeof(*weights));
    double *scratch = malloc(2 * cols * sizeof(*scratch));
    int rc = weights && scratch ? 0 : err_set(err, -ENOMEM, "cannot allocate weights to check");
    if (!rc)
        gpu_ref_weights(cols, weights);
    for (uint64_t i = 0; i < GPU_SAMPLES && !rc; i++) {
        size_t row = i ? mix64(feed->batches.seed + i) % feed->batches.prep.rows
                       : feed->batches.prep.rows - 1;
        rc = check_device_row(feed, x, row, weights, scratch, err);
    }
    free(scratch);
    free(weights);
    return rc;
}

/* Checks the preprocessing on the device by the CPU's reference, then the passes of the device. */
static int check_raw(struct feed *feed, uint64_t batch, struct err *err)
{
    struct prep_out *out = &feed->batches.out;
    float *smoothed = NULL;
    int rc = batches_check_copy(&feed->batches, batch, target_of(feed, batch), err);
    if (rc || !device_computes(&feed->device))
        return rc;
    rc = batches_allocate(&smoothed, feed->batches.cells, err);
    const struct prep_gpu_arrays arrays = {out->mean,     out->scale,      out->transformed,
                                           out->features, out->covariance, smoothed};
    if (!rc)
        rc = device_read_prep(&feed->device, &arrays, err);
    if (!rc)
        rc = batches_check(&feed->batches, batch, smoothed, err);
    if (!rc)
        rc = check_device(feed, smoothed, err);
    free(smoothed);
    return rc;
}

/* Checks the host's part of a batch, then the device's. */
static int check_batch(struct feed *feed, uint64_t batch, struct err *err)
{
    if (feed->raw)
        return check_raw(feed, batch, err);
    int rc = batches_check(&feed->batches, batch, target_of(feed, batch), err);
    if (!rc && device_computes(&feed->device))
        rc = check_device(feed, target_of(feed, batch), err);
    return rc;
}

int feed_check(struct feed *feed, const struct bench_ctx *ctx)
{
    struct err *err = ctx->err;
    struct sample sample = {0};
    bool computes = device_computes(&feed->device);
    int rc = feed_drain(feed, 0, &sample, ctx);
    if (rc)
        return rc;
    batches_poison(&feed->batches);
    for (unsigned s = 0; s <= feed->prefetch; s++)
        batches_poison_target(&feed->batches, device_host_buffer(&feed->device, s));
    if (computes)
        rc = device_poison(&feed->device, err);
    uint64_t batch = feed->submitted;
    if (!rc)
        rc = feed_step(feed, &sample, ctx);
    if (!rc)
        rc = feed_drain(feed, 0, &sample, ctx);
    return rc ? rc : check_batch(feed, batch, err);
}

/* Emits the GPU's share of its maximum rates while it worked. */
static void report_shares(const struct feed *feed, unsigned first_metric, struct bench_ctx *ctx)
{
    double flops, bytes, passes = feed->work, seconds = (double)feed->device_ns * 1e-9;
    double rows = (double)feed->batches.prep.rows, cols = (double)feed->batches.prep.cols;
    const struct prep_gpu_params prep = prep_gpu_params_of(&feed->batches.prep);
    device_peak(&feed->device, &flops, &bytes);
    if (!(seconds > 0 && flops > 0 && bytes > 0))
        return;
    double batches = (double)feed->device_batches;
    double did = 2 * rows * cols * cols * passes, moved = 4 * (2 * rows + cols) * cols * passes;
    did += feed->raw ? prep_gpu_flops(&prep) : 0;
    moved += feed->raw ? prep_gpu_bytes(&prep) : 0;
    bench_emit(ctx, first_metric + GPU_COMPUTE_SHARE, batches * did / seconds / flops, NO_DIMS);
    bench_emit(ctx, first_metric + GPU_MEMORY_SHARE, batches * moved / seconds / bytes, NO_DIMS);
}

void feed_report(struct feed *feed, unsigned first_metric, struct bench_ctx *ctx)
{
    batches_report(&feed->batches, feed->raw, device_host_buffer(&feed->device, 0), first_metric,
                   ctx);
    if (feed->slept.asked_ns)
        bench_emit(ctx, first_metric + SIM_OVERSHOOT,
                   (double)feed->slept.over_ns / (double)feed->slept.asked_ns, NO_DIMS);
    bench_emit(ctx, first_metric + BUFFER_ON_NODE, device_host_share(&feed->device), NO_DIMS);
    report_shares(feed, first_metric, ctx);
}

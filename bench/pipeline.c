/*
 * Preprocessing on the CPU that feeds a GPU: the data path of one training worker.
 *
 * A step preprocesses a raw batch (kernels/prep.h: many short OpenMP regions) into a buffer of the
 * device's, queues its copy and its GPU work (kernels/gpu_step.h, or the model in device_sim.c),
 * and, once more than `prefetch` batches are in flight, waits for the oldest.
 *
 * **Measures** steps on the harness's clock: ops = rows of the batches submitted, bytes = 4 rows
 * cols a step, what is copied to the device; device_ns = time the device worked, copies excluded,
 * for the batches that were waited for in the step (CUDA events; the model's figure in sim).
 * **Source** kernels/prep.h and gpu_step.h name theirs; the shape of the loop is that of any data
 * loader, and regions of a few microseconds a thread are what frameworks make of such code.
 * **Limits** The raw data waits in memory: no disk, no decoding. Four raw batches take turns, so
 * with small batches they stay in the cache. Copies back are one row a step.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/device.h"
#include "bench/registry.h"
#include "harness/core/units.h"
#include "kernels/gpu_ref.h"
#include "kernels/mix64.h"
#include "kernels/prep.h"
#include "kernels/prep_isa.h"
#include "kernels/prep_ref.h"

enum {
    SOURCES = 4,    /* raw batches that take turns */
    COV_COLS = 128, /* at most; the first ones of a batch */
    HOP_SHARE = 8,  /* windows advance by 1/8 of their width */
    GPU_SAMPLES = 4 /* rows of the GPU's result that check compares */
};

static const uint64_t largest_array_bytes = 1ull << 32;

struct pipeline_params {
    int64_t rows, cols, block, window, prefetch, gpu_work;
    int wait;
    bool pinned;
    double sim_gbps, sim_work_us, lambda, alpha;
};

enum { WAIT_SPIN, WAIT_BLOCK };
static const char *const wait_names[] = {"spin", "block", NULL};

#define NUMBER(field, type, fallback, least, most, text)                                           \
    {                                                                                              \
        .name = #field, .kind = (type), .offset = offsetof(struct pipeline_params, field),         \
        .def = (fallback), .min = (least), .max = (most), .arg = (type) == OPT_INT ? "N" : "X",    \
        .help = (text),                                                                            \
    }

static const struct opt pipeline_opts[] = {
    NUMBER(rows, OPT_INT, "2048", 1, 1 << 30, "rows of a batch"),
    NUMBER(cols, OPT_INT, "512", 1, 32768, "columns of a batch, in float32"),
    NUMBER(block, OPT_INT, "64", 1, 1 << 30, "rows preprocessed at a time, in five regions"),
    NUMBER(window, OPT_INT, "32", 1, 32768, "columns of a feature window; it moves by 1/8 of that"),
    NUMBER(lambda, OPT_DOUBLE, "0.5", -5, 5, "exponent of the Yeo-Johnson transform"),
    NUMBER(alpha, OPT_DOUBLE, "0.1", 1e-6, 1, "weight of the newest value in the moving average"),
    NUMBER(prefetch, OPT_INT, "1", 0, 8, "batches in flight while the next is made; 0 waits"),
    {.name = "pinned",
     .kind = OPT_FLAG,
     .offset = offsetof(struct pipeline_params, pinned),
     .def = "1",
     .help = "1: copy from page-locked memory, 0: from ordinary memory"},
    NUMBER(gpu_work, OPT_INT, "2", 1, 100000, "passes of the GPU kernel over a batch"),
    {.name = "wait",
     .kind = OPT_CHOICE,
     .offset = offsetof(struct pipeline_params, wait),
     .def = "block",
     .choices = wait_names,
     .arg = "HOW",
     .help = "how to wait for the device, busy or asleep"},
    NUMBER(sim_gbps, OPT_DOUBLE, "25", 0.001, 1e6, "device sim: GB/s of its link (1e9 bytes)"),
    NUMBER(sim_work_us, OPT_DOUBLE, "200", 0.001, 1e7, "device sim: microseconds of one pass"),
    {.name = NULL},
};

struct pipeline {
    struct prep_params prep;
    struct prep_out out; /* smoothed is NULL: that goes straight to the slot's buffer */
    size_t cells;        /* of a batch */
    float *sources;      /* [SOURCES][rows][cols] */
    uint64_t seed;
    unsigned prefetch;
    uint64_t submitted, retired; /* batches; batch k uses slot k % (prefetch + 1) */
    struct device_queue device;
};

/* Size of a float array of a x b x c, or UINT64_MAX where it overflows. */
static uint64_t array_bytes(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t bytes;
    if (__builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, c, &bytes) ||
        __builtin_mul_overflow(bytes, sizeof(float), &bytes))
        return UINT64_MAX;
    return bytes;
}

static int64_t cov_cols(const struct pipeline_params *params)
{
    return params->cols < COV_COLS ? params->cols : COV_COLS;
}

static int pipeline_validate(const void *raw, struct err *err)
{
    const struct pipeline_params *params = raw;
    char size[32], most[32];
    uint64_t batch = array_bytes((uint64_t)params->rows, (uint64_t)params->cols, 1);
    (void)units_format_bytes(largest_array_bytes, most, sizeof(most));
    if (batch > largest_array_bytes)
        return err_set(
            err, -EINVAL, "rows %" PRId64 " x cols %" PRId64 " is a batch of %s; at most %s",
            params->rows, params->cols, units_format_bytes(batch, size, sizeof(size)), most);
    if (params->block > params->rows)
        return err_set(err, -EINVAL, "block %" PRId64 " is larger than rows %" PRId64,
                       params->block, params->rows);
    if (params->window > params->cols)
        return err_set(err, -EINVAL, "window %" PRId64 " is larger than cols %" PRId64,
                       params->window, params->cols);
    uint64_t blocks = (uint64_t)((params->rows - 1) / params->block + 1);
    uint64_t matrices = array_bytes(blocks, (uint64_t)cov_cols(params), (uint64_t)cov_cols(params));
    if (matrices > largest_array_bytes)
        return err_set(err, -EINVAL,
                       "block %" PRId64 " of rows %" PRId64 " makes %s of covariances; at most %s",
                       params->block, params->rows,
                       units_format_bytes(matrices, size, sizeof(size)), most);
    return 0;
}

static int pipeline_probe(struct bench_ctx *ctx)
{
    return device_probe(ctx->device, ctx->err);
}

/*
 * Raw value `index`: the cube of a uniform value in [-0.3, 0.7), so skewed, to the right in even
 * columns and to the left in odd ones, at an offset of its column's. A function of the index: any
 * team fills the same data, and check can make it again.
 */
static float raw_value(uint64_t seed, uint64_t index, uint64_t col)
{
    float v = (float)(mix64(seed ^ mix64(index)) >> 40) * 0x1p-24f - 0.3f;
    return (float)(col % 5) - 2.0f + (col % 2 ? -8.0f : 8.0f) * v * v * v;
}

/* By the team, so that pages land where the threads run that use them. */
static void fill_sources(struct pipeline *p)
{
    size_t cols = p->prep.cols, rows = p->prep.rows;
#pragma omp parallel for num_threads((int)p->prep.threads) schedule(static)
    for (size_t r = 0; r < rows; r++)
        for (size_t s = 0; s < SOURCES; s++)
            for (size_t c = 0; c < cols; c++) {
                size_t at = s * p->cells + r * cols + c;
                p->sources[at] = raw_value(p->seed, at, c);
            }
}

/* First touch, and poison: all bits set is a NaN. */
static void poison(float *array, size_t count, unsigned threads)
{
    size_t chunk = 1024, chunks = (count + chunk - 1) / chunk;
#pragma omp parallel for num_threads((int)threads) schedule(static)
    for (size_t i = 0; i < chunks; i++) {
        size_t left = count - i * chunk;
        memset(array + i * chunk, 0xff, (left < chunk ? left : chunk) * sizeof(*array));
    }
}

static unsigned slot_count(const struct pipeline *p)
{
    return p->prefetch + 1;
}

/* The arrays of a step's output, with their sizes: allocated, poisoned and freed alike. */
struct output {
    float **array;
    size_t count;
};

enum { OUTPUTS = 5 };

static void list_outputs(struct pipeline *p, struct output outputs[OUTPUTS])
{
    size_t blocks = prep_blocks(&p->prep);
    const struct output all[OUTPUTS] = {
        {&p->out.mean, blocks * p->prep.cols},
        {&p->out.scale, blocks * p->prep.cols},
        {&p->out.transformed, p->cells},
        {&p->out.features, p->prep.rows * prep_windows(&p->prep) * PREP_WINDOW_FEATURES},
        {&p->out.covariance, blocks * p->prep.cov_cols * p->prep.cov_cols},
    };
    memcpy(outputs, all, sizeof(all));
}

static void poison_outputs(struct pipeline *p)
{
    struct output outputs[OUTPUTS];
    list_outputs(p, outputs);
    for (int i = 0; i < OUTPUTS; i++)
        poison(*outputs[i].array, outputs[i].count, p->prep.threads);
    for (unsigned s = 0; s < slot_count(p); s++)
        poison(device_host_buffer(&p->device, s), p->cells, p->prep.threads);
}

static void mark_visit(void *visits)
{
    visit_mark(visits);
}

static void configure(struct pipeline *p, const struct bench_ctx *ctx)
{
    const struct pipeline_params *params = ctx->params;
    size_t hop = (size_t)params->window / HOP_SHARE;
    p->prep = (struct prep_params){
        .rows = (size_t)params->rows,
        .cols = (size_t)params->cols,
        .block = (size_t)params->block,
        .window = (size_t)params->window,
        .hop = hop ? hop : 1,
        .cov_cols = (size_t)cov_cols(params),
        .lambda = (float)params->lambda,
        .alpha = (float)params->alpha,
        .threads = ctx->threads,
        .isa = prep_isa_best(),
        .mark = mark_visit,
        .mark_arg = ctx->visits,
    };
    p->cells = p->prep.rows * p->prep.cols;
    p->seed = ctx->seed;
    p->prefetch = (unsigned)params->prefetch;
}

static int allocate(float **array, size_t count, struct err *err)
{
    enum { ALIGN = 64 };
    size_t bytes = (count * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
    *array = aligned_alloc(ALIGN, bytes);
    return *array ? 0 : err_set(err, -ENOMEM, "cannot allocate an array of %zu bytes", bytes);
}

static int open_device(struct pipeline *p, const struct bench_ctx *ctx)
{
    const struct pipeline_params *params = ctx->params;
    const struct device_config config = {
        .kind = ctx->device,
        .pci_bdf = ctx->pci_bdf,
        .rows = p->prep.rows,
        .cols = p->prep.cols,
        .slots = slot_count(p),
        .work = (unsigned)params->gpu_work,
        .pinned = params->pinned,
        .spin = params->wait == WAIT_SPIN,
        .sim_gbps = params->sim_gbps,
        .sim_work_us = params->sim_work_us,
    };
    return device_open(&p->device, &config, ctx->err);
}

static int pipeline_setup(struct bench_ctx *ctx)
{
    struct pipeline *p = calloc(1, sizeof(*p));
    ctx->state = p;
    if (!p)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the pipeline's state");
    configure(p, ctx);

    struct output outputs[OUTPUTS];
    list_outputs(p, outputs);
    int rc = allocate(&p->sources, SOURCES * p->cells, ctx->err);
    for (int i = 0; i < OUTPUTS && !rc; i++)
        rc = allocate(outputs[i].array, outputs[i].count, ctx->err);
    if (!rc)
        rc = open_device(p, ctx);
    if (rc)
        return rc;
    fill_sources(p);
    poison_outputs(p);
    ctx->buffer = p->sources;
    ctx->buffer_bytes = SOURCES * p->cells * sizeof(float);
    return 0;
}

static void pipeline_teardown(struct bench_ctx *ctx)
{
    struct pipeline *p = ctx->state;
    ctx->state = NULL;
    ctx->buffer = NULL;
    ctx->buffer_bytes = 0;
    if (!p)
        return;
    struct output outputs[OUTPUTS];
    list_outputs(p, outputs);
    device_close(&p->device);
    for (int i = OUTPUTS - 1; i >= 0; i--)
        free(*outputs[i].array);
    free(p->sources);
    free(p);
}

/* Where batch `index` comes from, and where its values for the device go. */
static const float *source_of(const struct pipeline *p, uint64_t index)
{
    return p->sources + index % SOURCES * p->cells;
}

static float *target_of(struct pipeline *p, uint64_t index)
{
    return device_host_buffer(&p->device, (unsigned)(index % slot_count(p)));
}

/* Waits for the oldest batches until at most `in_flight` are left. */
static int retire(struct pipeline *p, uint64_t in_flight, uint64_t *device_ns, struct err *err)
{
    while (p->submitted - p->retired > in_flight) {
        uint64_t busy_ns = 0;
        int rc = device_wait(&p->device, (unsigned)(p->retired % slot_count(p)), &busy_ns, err);
        if (rc)
            return rc;
        p->retired++;
        *device_ns += busy_ns;
    }
    return 0;
}

static int step(struct pipeline *p, struct sample *sample, struct err *err)
{
    struct prep_out out = p->out;
    out.smoothed = target_of(p, p->submitted);
    prep_run(&p->prep, source_of(p, p->submitted), &out);
    int rc = device_submit(&p->device, (unsigned)(p->submitted % slot_count(p)), err);
    if (rc)
        return rc;
    p->submitted++;
    sample->iters++;
    sample->ops += p->prep.rows;
    sample->bytes += p->cells * sizeof(float);
    return retire(p, p->prefetch, &sample->device_ns, err);
}

static int pipeline_run(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    sample->iters = sample->ops = sample->bytes = sample->device_ns = 0;
    for (uint64_t i = 0; i < iters; i++) {
        int rc = step(ctx->state, sample, ctx->err);
        if (rc)
            return rc;
    }
    return 0;
}

/* The raw rows of a block against the generator: the timed steps must not have changed them. */
static int check_source(const struct pipeline *p, uint64_t batch, size_t block, struct err *err)
{
    size_t first = block * p->prep.block * p->prep.cols;
    size_t count = prep_block_rows(&p->prep, block) * p->prep.cols;
    for (size_t i = first; i < first + count; i++) {
        float want = raw_value(p->seed, batch % SOURCES * p->cells + i, i % p->prep.cols);
        float got = source_of(p, batch)[i];
        if (!(got == want))
            return err_set(err, -EBADMSG, "raw batch[%zu][%zu] is %.9g, not %.9g as generated",
                           i / p->prep.cols, i % p->prep.cols, (double)got, (double)want);
    }
    return 0;
}

static int check_block(struct pipeline *p, uint64_t batch, size_t block, struct err *err)
{
    struct prep_diff diff;
    struct prep_out out = p->out;
    out.smoothed = target_of(p, batch);
    int rc = check_source(p, batch, block, err);
    if (!rc && prep_ref_check_block(&p->prep, source_of(p, batch), &out, block, &diff))
        rc = err_set(err, -EBADMSG, "%s[%zu][%zu] is %.9g, not %.9g +- %.2g", diff.stage, diff.row,
                     diff.col, diff.got, diff.want, diff.limit);
    return rc;
}

/* Blocks that are not sampled have at least been written: outputs were NaN before. */
static int check_written(struct pipeline *p, uint64_t batch, struct err *err)
{
    const float *smoothed = target_of(p, batch);
    for (size_t i = 0; i < p->cells; i++)
        if (!isfinite(smoothed[i]))
            return err_set(err, -EBADMSG, "smoothed[%zu][%zu] is %g", i / p->prep.cols,
                           i % p->prep.cols, (double)smoothed[i]);
    return 0;
}

/* One row of the device's result. scratch: 2 cols doubles. */
static int check_device_row(struct pipeline *p, uint64_t batch, size_t row, unsigned passes,
                            const float *weights, double *scratch, struct err *err)
{
    size_t cols = p->prep.cols;
    const float *x = target_of(p, batch) + row * cols;
    const double *want = gpu_ref_row(x, weights, cols, passes, scratch, scratch + cols);
    double limit = gpu_ref_limit(x, cols, passes);
    float *got = p->out.transformed; /* free after the host's part was checked */
    int rc = device_read(&p->device, row, 1, got, err);
    for (size_t c = 0; c < cols && !rc; c++)
        if (!(fabs((double)got[c] - want[c]) <= limit))
            rc = err_set(err, -EBADMSG, "device result[%zu][%zu] is %.9g, not %.9g +- %.2g", row, c,
                         (double)got[c], want[c], limit);
    return rc;
}

static int check_device(struct pipeline *p, uint64_t batch, unsigned passes, struct err *err)
{
    size_t cols = p->prep.cols;
    float *weights = malloc(cols * cols * sizeof(*weights));
    double *scratch = malloc(2 * cols * sizeof(*scratch));
    int rc = weights && scratch ? 0 : err_set(err, -ENOMEM, "cannot allocate weights to check");
    if (!rc)
        gpu_ref_weights(cols, weights);
    for (uint64_t i = 0; i < GPU_SAMPLES && !rc; i++) {
        size_t row = i ? mix64(p->seed + i) % p->prep.rows : p->prep.rows - 1;
        rc = check_device_row(p, batch, row, passes, weights, scratch, err);
    }
    free(scratch);
    free(weights);
    return rc;
}

/* Repeats one step over poisoned outputs; compares two blocks, and rows of the device's result. */
static int pipeline_check(struct bench_ctx *ctx)
{
    struct pipeline *p = ctx->state;
    const struct pipeline_params *params = ctx->params;
    struct sample sample = {0};
    bool computes = device_computes(&p->device);
    int rc = retire(p, 0, &sample.device_ns, ctx->err);
    if (!rc)
        poison_outputs(p);
    if (!rc && computes)
        rc = device_poison(&p->device, ctx->err);
    uint64_t batch = p->submitted;
    if (!rc)
        rc = step(p, &sample, ctx->err);
    if (!rc)
        rc = retire(p, 0, &sample.device_ns, ctx->err);
    if (!rc)
        rc = check_written(p, batch, ctx->err);
    if (!rc)
        rc = check_block(p, batch, mix64(p->seed) % prep_blocks(&p->prep), ctx->err);
    if (!rc)
        rc = check_block(p, batch, prep_blocks(&p->prep) - 1, ctx->err);
    if (!rc && computes)
        rc = check_device(p, batch, (unsigned)params->gpu_work, ctx->err);
    return rc;
}

const struct bench bench_pipeline = {
    .name = "pipeline",
    .summary = "preprocess batches on the CPU, copy them to a GPU and work on them there",
    .ops_unit = "items",
    .metric = METRIC_RATE,
    .needs = NEED_DEVICE,
    .opts = pipeline_opts,
    .params_size = sizeof(struct pipeline_params),
    .validate = pipeline_validate,
    .probe = pipeline_probe,
    .setup = pipeline_setup,
    .run = pipeline_run,
    .check = pipeline_check,
    .teardown = pipeline_teardown,
};

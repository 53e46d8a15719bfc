/*
 * Preprocessing on the CPU alone: `pipeline` without its device. Each operation is an OpenMP
 * region, without pauses between them. The CPU-heavy load behind other benchmarks (--background
 * prep).
 *
 * **Measures** steps on the harness's clock: ops = rows of the batches preprocessed, bytes = 4 rows
 * cols a step, the size of the raw batch that is read.
 * **Source** kernels/prep/prep.h names its own; see pipeline.c for the shape of the loop.
 * **Limits** Four raw batches take turns, so small batches stay in the cache. Waits only for its
 * own team: a data loader that is throttled by its consumer loads the CPUs less.
 */
#include "bench/feed/batch.h"
#include "bench/registry.h"

static const struct opt prep_opts[] = {BATCH_OPTS, {.name = NULL}};

struct prep {
    struct batches batches;
    float *target;
    uint64_t done; /* batches */
};

static int prep_setup(struct bench_ctx *ctx)
{
    struct prep *prep = ctx->state;
    return batches_open_target(&prep->batches, &prep->target, ctx);
}

static void step(struct prep *prep, struct sample *sample)
{
    batches_prepare(&prep->batches, prep->done++, prep->target, sample);
    sample->bytes += prep->batches.cells * sizeof(float);
}

static int prep_step(struct bench_ctx *ctx, uint64_t iters, struct sample *sample)
{
    sample->iters = sample->ops = sample->bytes = 0;
    for (uint64_t i = 0; i < iters; i++)
        step(ctx->state, sample);
    return 0;
}

static int prep_check(struct bench_ctx *ctx)
{
    struct prep *prep = ctx->state;
    struct sample sample = {0};
    uint64_t batch = prep->done;
    batches_poison(&prep->batches);
    batches_poison_target(&prep->batches, prep->target);
    step(prep, &sample);
    int rc = batches_check(&prep->batches, batch, prep->target, ctx->err);
    if (!rc && !ctx->worker)
        batches_report(&prep->batches, false, prep->target, 0, ctx);
    return rc;
}

static const struct bench_metric prep_metrics[] = {BATCH_METRICS, {.name = NULL}};

const struct bench bench_prep = {
    .name = "prep",
    .summary = "preprocess batches on the CPU, without a device: load behind others",
    .ops_unit = "items",
    .opts = prep_opts,
    .params_size = sizeof(struct batch_params),
    .metrics = prep_metrics,
    .validate = batches_validate,
    .state_size = sizeof(struct prep),
    .setup = prep_setup,
    .step = prep_step,
    .check = prep_check,
};

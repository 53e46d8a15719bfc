/*
 * The memory of each GPU, nearly all that is free, written and read back by patterns.
 *
 * All GPUs at once run passes until the time is over, at least one pass of each pattern.
 *
 * **Measures** `memory_tested`, bytes that were written and read back. `memory_test_rate`, GB/s
 * (1e9): GPU_MEMORY_TIMES x memory_tested x passes / their time between device events.
 * `memory_passes`. A GPU that reads a wrong word is a failed row and is left out; the other GPUs
 * are measured. The row has the number of wrong words, the first address, and the expected and
 * read words.
 * **Source** kernels/gpu/gpu_memory.h names it.
 * **Limits** Memory of other processes and of this process's context is not tested. ECC corrects
 * single bits before a kernel reads them: `contend validate` (gpu_ecc) shows its counters.
 */
#include "bench/gpu/gpu_memory.h"

#include <errno.h>

#include "bench/gpu/gpu.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"
#include "kernels/gpu/gpu_memory.h"

struct memory_params {
    uint64_t size;
};

static const struct opt memory_opts[] = {
    OPT_SIZE("size", memory_params, size, NULL, GPU_MEMORY_GRAIN, 1ull << 42, "BYTES",
             "bytes to test on each GPU; unset: nearly all that is free"),
    {.name = NULL},
};

enum { BY_GPU = 1 };
static const struct bench_dim memory_dims[] = {[BY_GPU] = {"gpu", DIM_GPU}, {.name = NULL}};

enum { TESTED, RATE, PASSES };
static const struct bench_metric memory_metrics[] = {
    [TESTED] = {"memory_tested", "B", "higher"},
    [RATE] = {"memory_test_rate", "GB/s", "higher", .peers = PEERS_EQUAL, .gating = true},
    [PASSES] = {"memory_passes", "count", "none"},
    {.name = NULL},
};

static const struct figure_panel memory_panels[] = {
    {"memory_test_rate", "bytes written and read (GB/s)", {0}},
    {.metric = NULL},
};

static const struct bench_figure memory_figures[] = {
    {.name = "gpu_memory",
     .kind = FIGURE_DOTS,
     .metric = "memory_test_rate",
     .title = "test of the memory of each GPU, all at once",
     .how = "Moving inversions over nearly all free memory",
     .x = {"GPU", BY_GPU},
     .panels = memory_panels},
    {.name = NULL},
};

#ifdef CONTEND_HAVE_CUDA

static int memory_setup(struct bench_ctx *ctx)
{
    const struct memory_params *params = ctx->params;
    struct memory_test *t = ctx->state;
    t->seed = ctx->round_seed;
    gpu_set_open(&t->set, ctx->machine);
    for (unsigned i = 0; i < t->set.n; i++) {
        if (gpu_set_has(&t->set, i))
            (void)gpu_set_drop(&t->set, i,
                               gpu_memory_open(ctx->machine->gpus[i].pci_bdf, params->size,
                                               &t->gpu[i], &t->set.why));
    }
    return gpu_set_check(&t->set, ctx->err);
}

static void memory_teardown(struct bench_ctx *ctx)
{
    struct memory_test *t = ctx->state;
    for (unsigned i = 0; i < t->set.n; i++)
        gpu_memory_close(t->gpu[i]);
}

static void wait_for(struct memory_test *t, unsigned i)
{
    struct gpu_memory_wrong wrong = {0};
    double seconds = 0;
    int rc = gpu_memory_wait(t->gpu[i], &seconds, &wrong, &t->set.why);
    t->seconds[i] += seconds;
    if (!rc && wrong.words) {
        rc = err_set(&t->set.why, -EBADMSG,
                     "%llu wrong words of its memory, the first at byte 0x%llx of %llu: expected "
                     "%016llx, read %016llx",
                     (unsigned long long)wrong.words, (unsigned long long)wrong.at_byte,
                     (unsigned long long)gpu_memory_bytes(t->gpu[i]),
                     (unsigned long long)wrong.expected, (unsigned long long)wrong.actual);
    }
    (void)gpu_set_drop(&t->set, i, rc);
}

void memory_test_pass(struct memory_test *t)
{
    enum gpu_memory_pattern pattern = (enum gpu_memory_pattern)(t->passes % GPU_MEMORY_PATTERNS);
    for (unsigned i = 0; i < t->set.n; i++) {
        if (gpu_set_has(&t->set, i))
            (void)gpu_set_drop(
                &t->set, i, gpu_memory_queue(t->gpu[i], pattern, t->seed + t->passes, &t->set.why));
    }
    for (unsigned i = 0; i < t->set.n; i++)
        if (gpu_set_has(&t->set, i))
            wait_for(t, i);
    t->passes++;
}

static int memory_scan(struct bench_ctx *ctx)
{
    struct memory_test *t = ctx->state;
    uint64_t end_ns = clock_now_ns() + (uint64_t)(ctx->budget_s * 1e9);
    while (t->passes < GPU_MEMORY_PATTERNS || clock_now_ns() < end_ns) {
        memory_test_pass(t);
        bench_progress(ctx, 1);
    }
    for (unsigned i = 0; i < t->set.n; i++) {
        if (!gpu_set_has(&t->set, i))
            continue;
        double bytes = (double)gpu_memory_bytes(t->gpu[i]);
        bench_emit(ctx, TESTED, bytes, DIMS({BY_GPU, i}));
        bench_emit(ctx, RATE, GPU_MEMORY_TIMES * bytes * (double)t->passes / t->seconds[i] * 1e-9,
                   DIMS({BY_GPU, i}));
    }
    bench_emit(ctx, PASSES, (double)t->passes, NO_DIMS);
    gpu_set_emit(ctx, &t->set, RATE, BY_GPU);
    return gpu_set_check(&t->set, ctx->err);
}

#endif

const struct bench bench_gpu_memory = {
    .name = "gpu_memory",
    .summary = "the memory of each GPU, written and read back by patterns: is every bit right?",
    .needs = NEED_GPU,
    .opts = memory_opts,
    .params_size = sizeof(struct memory_params),
    .metrics = memory_metrics,
    .figures = memory_figures,
    .dims = memory_dims,
    .probe = gpu_probe,
#ifdef CONTEND_HAVE_CUDA
    .state_size = sizeof(struct memory_test),
    .setup = memory_setup,
    .scan = memory_scan,
    .teardown = memory_teardown,
#else
    .scan = gpu_probe,
#endif
};

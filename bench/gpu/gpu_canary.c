/*
 * The control for GPUs: how fast they are right now. Every run of every version runs the same small
 * kernel, in each round next to the measured configurations and on their GPUs (bench/cpu/canary.c
 * is the control for CPUs).
 *
 * All workers at once run it on their own GPU: 50 ms to let the clock rise, then 16 times.
 *
 * **Measures** medians of the 16: `canary_time`, us, by device events; `canary_cycles`, cycles of
 * the SM's clock (clock64) of the slowest block. A GPU whose clock is held back takes more time and
 * the same cycles. If cycles differ between two runs, the SMs did other work, too.
 * **Source** kernels/gpu/gpu_canary.h.
 * **Limits** This integer work never reaches the power limit: gpu_matmul's `gpu_clock_sm` shows
 * clocks that only large matrix products lower. A GPU that fails is a failed row.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "bench/gpu/gpu.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "kernels/gpu/gpu_canary.h"

enum { BY_GPU = 1 };
static const struct bench_dim canary_dims[] = {[BY_GPU] = {"gpu", DIM_GPU}, {.name = NULL}};

enum { CANARY_TIME, CANARY_CYCLES };
static const struct bench_metric canary_metrics[] = {
    [CANARY_TIME] = {"canary_time", "us", "lower", .peers = PEERS_EQUAL},
    [CANARY_CYCLES] = {"canary_cycles", "count", "lower"},
    {.name = NULL},
};

#ifdef CONTEND_HAVE_CUDA

enum { RUNS = 16, RANKS_MOST = 64 };

static const uint64_t warm_up_ns = 50000000;

/* The report of a worker to rank 0. */
struct report {
    unsigned gpu; /* its index in the machine */
    double time_us, cycles;
    struct err err; /* why there are no values; code 0 = there are some */
};

struct canary {
    struct gpu_canary *gpu;
    struct report report, all[RANKS_MOST];
};

static unsigned gpu_index(const struct bench_ctx *ctx)
{
    for (unsigned i = 0; i < ctx->machine->ngpus; i++)
        if (strcmp(ctx->machine->gpus[i].pci_bdf, ctx->pci_bdf) == 0)
            return i;
    return 0;
}

/* A GPU that does not open is no error of setup: the report has it, and all workers go on. */
static int canary_setup(struct bench_ctx *ctx)
{
    struct canary *c = ctx->state;
    if (ctx->peers->size > RANKS_MOST)
        return err_set(ctx->err, -ENOTSUP, "more than %d GPUs", RANKS_MOST);
    c->report.gpu = gpu_index(ctx);
    c->report.err.code = gpu_canary_open(ctx->pci_bdf, &c->gpu, &c->report.err);
    return 0;
}

static int run_once(struct canary *c, double *time_us, double *cycles)
{
    double seconds = 0;
    int rc = gpu_canary_run(c->gpu, &seconds, cycles, &c->report.err);
    *time_us = seconds * 1e6;
    return rc;
}

static int check_results(struct canary *c)
{
    unsigned wrong = 0;
    int rc = gpu_canary_check(c->gpu, &wrong, &c->report.err);
    if (rc || !wrong)
        return rc;
    return err_set(&c->report.err, -EBADMSG, "%u threads computed wrongly", wrong);
}

static int measure(struct canary *c)
{
    double time_us[RUNS], cycles[RUNS];
    int rc = 0;
    for (uint64_t end_ns = clock_now_ns() + warm_up_ns; !rc && clock_now_ns() < end_ns;)
        rc = run_once(c, &time_us[0], &cycles[0]);
    for (unsigned i = 0; i < RUNS && !rc; i++)
        rc = run_once(c, &time_us[i], &cycles[i]);
    if (!rc)
        rc = check_results(c);
    if (rc)
        return rc;
    c->report.time_us = stats_sort_median(time_us, RUNS);
    c->report.cycles = stats_sort_median(cycles, RUNS);
    return 0;
}

/* Workers may share a GPU: true if an earlier rank has reported this rank's GPU. */
static bool is_reported(const struct canary *c, unsigned rank)
{
    for (unsigned i = 0; i < rank; i++)
        if (c->all[i].gpu == c->all[rank].gpu)
            return true;
    return false;
}

static void emit_gpu(struct bench_ctx *ctx, const struct report *report)
{
    struct err why = report->err;
    const char *pci_bdf =
        report->gpu < ctx->machine->ngpus ? ctx->machine->gpus[report->gpu].pci_bdf : ctx->pci_bdf;
    const struct dims at = DIMS({BY_GPU, report->gpu});
    (void)gpu_error_of(why.code, gpu_name(ctx->machine, pci_bdf), &why);
    if (bench_emit_absent(ctx, CANARY_TIME, &why, at))
        return;
    bench_emit(ctx, CANARY_TIME, report->time_us, at);
    bench_emit(ctx, CANARY_CYCLES, report->cycles, at);
}

static int canary_scan(struct bench_ctx *ctx)
{
    struct canary *c = ctx->state;
    if (!c->report.err.code)
        c->report.err.code = measure(c);
    int rc = peers_gather(ctx->peers, &c->report, c->all, sizeof(c->report), ctx->err);
    for (unsigned rank = 0; !rc && ctx->peers->rank == 0 && rank < ctx->peers->size; rank++)
        if (!is_reported(c, rank))
            emit_gpu(ctx, &c->all[rank]);
    return rc;
}

static void canary_teardown(struct bench_ctx *ctx)
{
    struct canary *c = ctx->state;
    gpu_canary_close(c->gpu);
}

#endif

const struct bench bench_gpu_canary = {
    .name = "gpu_canary",
    .summary = "how fast GPUs are right now: beside the arms of every run on GPUs",
    .needs = NEED_GPU,
    .metrics = canary_metrics,
    .dims = canary_dims,
    .gang = true,
    .probe = gpu_probe,
#ifdef CONTEND_HAVE_CUDA
    .state_size = sizeof(struct canary),
    .setup = canary_setup,
    .scan = canary_scan,
    .teardown = canary_teardown,
#else
    .scan = gpu_probe,
#endif
};

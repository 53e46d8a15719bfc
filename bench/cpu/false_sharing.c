/*
 * Threads that count, each in a byte of its own: in one cache line, in neighbouring lines, or far
 * apart. The threads share no data; the cost of the first two layouts is false sharing.
 *
 *   same      neighbouring bytes of one 64 B line
 *   adjacent  64 B apart: separate lines, but two lines make a 128 B sector, which prefetchers and
 *             some caches move as one
 *   padded    256 B apart
 *
 * **Measures** `write_rate` = 1e-6 writes / s of a thread (CLOCK_MONOTONIC_RAW in that thread), the
 * mean over the threads. The layouts take turns of short slices in random order; the value is the
 * median of the slices. `slowdown_vs_padded` = median over turns of the rate of `padded` / the rate
 * of the layout. threads=2 are the nearest two CPUs on different cores. threads=all are all CPUs,
 * at most 64, one for each byte of a line. With two CPUs there is only threads=2.
 * **Source** kernels/cpu/share.h names them.
 * **Limits** Atomic increments, as of reference counts and locks. Plain stores suffer less: the
 * store buffer hides some of the wait for the line. The machine decides which thread gets a line:
 * the mean says nothing about fairness.
 */
#include <errno.h>
#include <stdlib.h>

#include "bench/common/team.h"
#include "bench/cpu/pairs.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"
#include "harness/lib/text.h"
#include "kernels/cpu/mix64.h"
#include "kernels/cpu/share.h"

enum { BURST = 1024, TURNS_MIN = 3, TURNS_MAX = 200, PADDED_BYTES = 256 };

static const double slice_s = 0.005;

enum layout { LAYOUT_SAME, LAYOUT_ADJACENT, LAYOUT_PADDED, LAYOUTS };
static const char *const layout_names[] = {"same", "adjacent", "padded", NULL};
static const size_t stride_bytes[LAYOUTS] = {1, SHARE_LINE_BYTES, PADDED_BYTES};

enum { BY_LAYOUT = 1, BY_THREADS };
enum { THREADS_2, THREADS_ALL };
static const struct bench_dim false_sharing_dims[] = {
    [BY_LAYOUT] = {"layout", .labels = layout_names},
    [BY_THREADS] = {"threads", .labels = LABELS("2", "all")},
    {.name = NULL},
};

enum { METRIC_WRITES, METRIC_SLOWDOWN };
static const struct bench_metric false_sharing_metrics[] = {
    {"write_rate", "Mops/s", "higher", .gating = true},
    {"slowdown_vs_padded", "ratio", "lower"},
    {.name = NULL},
};

struct false_sharing {
    struct team team;
    _Atomic uint8_t *area; /* SHARE_WRITERS * PADDED_BYTES, 4096-aligned */
    unsigned n, pair[2];   /* number of CPUs of threads=all; the CPUs of threads=2 */
    uint64_t seed;
    /* The current slice. */
    enum layout layout;
    uint64_t slice_ns;
    struct counted {
        _Alignas(128) uint64_t writes; /* in this slice */
        double mops;
    } counted[SHARE_WRITERS];
    char wrong[160]; /* the first slice whose counters did not match; "" = none */
};

static int false_sharing_probe(struct bench_ctx *ctx)
{
    return ctx->machine->ncpus > 1
               ? 0
               : err_set(ctx->err, -ENOTSUP, "needs at least two CPUs, and may use only one");
}

static void choose_pair(struct false_sharing *f, const struct bench_machine *machine)
{
    f->pair[1] = 1;
    for (unsigned i = machine->ncpus - 1; i > 0; i--)
        if (machine->cpus[i].core != machine->cpus[0].core)
            f->pair[1] = i;
}

static int false_sharing_setup(struct bench_ctx *ctx)
{
    struct false_sharing *f = ctx->state;
    f->n = ctx->machine->ncpus < SHARE_WRITERS ? ctx->machine->ncpus : SHARE_WRITERS;
    f->seed = ctx->seed;
    choose_pair(f, ctx->machine);
    f->area = aligned_alloc(4096, (size_t)SHARE_WRITERS * PADDED_BYTES);
    if (!f->area)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the counters");
    int rc = bench_at_close(ctx, free, (void *)f->area);
    return rc ? rc : team_open_all(&f->team, ctx);
}

static _Atomic uint8_t *counter_of(const struct false_sharing *f, unsigned rank)
{
    return f->area + rank * stride_bytes[f->layout];
}

static void count(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct false_sharing *f = arg;
    _Atomic uint8_t *counter = counter_of(f, rank);
    uint64_t start_ns = clock_now_ns(), now_ns = start_ns, writes = 0;
    while (now_ns - start_ns < f->slice_ns) {
        share_count(counter, BURST);
        writes += BURST;
        now_ns = clock_now_ns();
    }
    f->counted[rank].writes = writes;
    f->counted[rank].mops = (double)writes * 1e3 / (double)(now_ns - start_ns);
}

/* Finds lost writes; check reports them. */
static void compare_counters(struct false_sharing *f, unsigned n)
{
    for (unsigned rank = 0; rank < n && !f->wrong[0]; rank++) {
        unsigned got = *counter_of(f, rank), want = (uint8_t)(f->counted[rank].writes + rank);
        if (got != want)
            text_set(f->wrong, "layout %s: the counter of thread %u of %u is %u, not %u",
                     layout_names[f->layout], rank, n, got, want);
    }
}

/* Returns the mean Mops/s of a thread. */
static double run_slice(struct false_sharing *f, enum layout layout, unsigned n)
{
    f->layout = layout;
    for (unsigned rank = 0; rank < n; rank++)
        *counter_of(f, rank) = (uint8_t)rank; /* poison: differs from the neighbouring counter */
    (void)team_run(&f->team, n == 2 ? f->pair : NULL, n, count, f);
    compare_counters(f, n);
    double sum = 0;
    for (unsigned rank = 0; rank < n; rank++)
        sum += f->counted[rank].mops;
    return sum / n;
}

static void emit_layout(struct bench_ctx *ctx, enum layout layout, unsigned threads, double *rates,
                        double *ratios, unsigned turns)
{
    const struct dims at = DIMS({BY_LAYOUT, layout}, {BY_THREADS, threads});
    bench_emit(ctx, METRIC_WRITES, stats_sort_median(rates, turns), at);
    if (layout != LAYOUT_PADDED)
        bench_emit(ctx, METRIC_SLOWDOWN, stats_sort_median(ratios, turns), at);
}

static void scan_threads(struct bench_ctx *ctx, unsigned n, double budget_s)
{
    struct false_sharing *f = ctx->state;
    double rates[LAYOUTS][TURNS_MAX], ratios[LAYOUTS][TURNS_MAX];
    double fit = budget_s / (LAYOUTS * slice_s);
    unsigned turns = fit < TURNS_MIN ? TURNS_MIN : fit > TURNS_MAX ? TURNS_MAX : (unsigned)fit;
    double slice_ns = 1e9 * budget_s / (LAYOUTS * turns);
    f->slice_ns = (uint64_t)(slice_ns < 1e9 * slice_s ? slice_ns : 1e9 * slice_s);
    uint64_t end_ns = clock_now_ns() + (uint64_t)(1e9 * budget_s);
    unsigned turn = 0;
    /* Slices are longer on a busy machine, since each waits for its last thread. */
    for (; turn < turns && (turn < TURNS_MIN || clock_now_ns() < end_ns); turn++) {
        unsigned order[LAYOUTS];
        pairs_shuffle(order, LAYOUTS, mix64(f->seed + turn));
        for (unsigned i = 0; i < LAYOUTS; i++)
            rates[order[i]][turn] = run_slice(f, (enum layout)order[i], n);
        for (unsigned layout = 0; layout < LAYOUTS; layout++)
            ratios[layout][turn] = rates[LAYOUT_PADDED][turn] / rates[layout][turn];
    }
    for (unsigned layout = 0; layout < LAYOUTS; layout++)
        emit_layout(ctx, (enum layout)layout, n == 2 ? THREADS_2 : THREADS_ALL, rates[layout],
                    ratios[layout], turn);
}

static int false_sharing_scan(struct bench_ctx *ctx)
{
    struct false_sharing *f = ctx->state;
    scan_threads(ctx, 2, f->n == 2 ? ctx->budget_s : ctx->budget_s / 2);
    if (f->n > 2)
        scan_threads(ctx, f->n, ctx->budget_s / 2);
    return 0;
}

static int false_sharing_check(struct bench_ctx *ctx)
{
    const struct false_sharing *f = ctx->state;
    return f->wrong[0] ? err_set(ctx->err, -EBADMSG, "%s", f->wrong) : 0;
}

const struct bench bench_false_sharing = {
    .name = "false_sharing",
    .summary = "threads that write the same, neighbouring or separate cache lines",
    .metrics = false_sharing_metrics,
    .dims = false_sharing_dims,
    .probe = false_sharing_probe,
    .state_size = sizeof(struct false_sharing),
    .setup = false_sharing_setup,
    .scan = false_sharing_scan,
    .check = false_sharing_check,
};

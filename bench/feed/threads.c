/*
 * How many threads a worker should have. One worker alone, and several at once, run the
 * preprocessing of `pipeline` by teams of 1 thread up to four times the CPUs that a worker may use.
 *
 * Each point is a slice of time in which a number of workers prepare batches, each by a team of a
 * given size, while the other workers sleep. Too few threads leave CPUs idle. If all teams together
 * have more threads than CPUs, threads wait for each other at the end of each region. If they spin
 * while they wait, the rate drops sharply (the cliff).
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `threads_rate` = rows of all active workers a second,
 * `threads_step` = us of a batch, the mean over these workers; a batch that lies partly in the
 * slice counts in part. Slices of a round are in random order, and their first third does not
 * count. `threads_best` per number of workers: the smallest team whose rate is within 3% of the
 * best. `threads_cliff`: the smallest team with less than half the rate of a smaller team; no value
 * if there is no cliff.
 * **Source** kernels/prep/prep.h; the cliff: METHOD.md, and OpenMP's wait policy (OpenMP 5.2, 21.2,
 * OMP_WAIT_POLICY; GCC's libgomp manual, GOMP_SPINCOUNT).
 * **Limits** Uses no device: a worker that waits for its GPU needs fewer CPUs than this shows.
 * Points of more than 2048 threads are left out.
 */
#include <errno.h>
#include <math.h>

#include "bench/common/points.h"
#include "bench/feed/batch.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"

enum { THREADS_PER_CPU_MOST = 4, THREADS_MOST = 2048, THREAD_COUNTS = 16, WORKER_COUNTS = 16 };

static const struct opt threads_opts[] = {BATCH_OPTS, {.name = NULL}};

enum { BY_WORKERS = 1, BY_THREADS };
static const struct bench_dim threads_dims[] = {
    [BY_WORKERS] = {"workers", .unit = "workers", .special = {1, "1 worker"}},
    [BY_THREADS] = {"threads", .unit = "threads", .special = {1, "1 thread"}},
    {.name = NULL}};

enum { METRIC_RATE, METRIC_STEP, METRIC_BEST, METRIC_CLIFF };
static const struct bench_metric threads_metrics[] = {
    {"threads_rate", "items/s", "higher", .gating = true},
    {"threads_step", "us", "lower", .hidden = true},
    {"threads_best", "threads", "none"},
    {"threads_cliff", "threads", "none"},
    {.name = NULL},
};

static const struct bench_figure threads_figures[] = {
    {.name = "threads",
     .kind = FIGURE_LINES,
     .metric = "threads_rate",
     .title = "throughput of all workers, by how many threads each has",
     .how = "All of them at once",
     .x = {"threads of a worker", BY_THREADS, .log = true},
     .y = {"items/s of all workers (log scale)", .log = true}},
    {.name = "threads_map",
     .kind = FIGURE_HEAT,
     .metric = "threads_step",
     .title = "time of a batch, by workers and by threads of each",
     .how = "All of them at once",
     .x = {"threads of a worker", BY_THREADS},
     .y = {"workers", BY_WORKERS, .ticks = FIGURE_TICKS_US},
     .colours = "time of a batch",
     .separate_axes = true},
    {.name = NULL},
};

struct point {
    unsigned workers, threads;
    double rate, step_us; /* NaN: no batch ended in time */
};

struct threads {
    struct batches batches;
    float *target;
    uint64_t done; /* batches */
    size_t npoints;
    struct point points[THREAD_COUNTS * WORKER_COUNTS];
    double share_s;
    double *gathered; /* from each worker: batches in the slice */
};

static void list_points(struct threads *threads, const struct bench_ctx *ctx)
{
    unsigned worker_counts[WORKER_COUNTS], thread_counts[THREAD_COUNTS];
    unsigned cpus = ctx->machine->ncpus ? ctx->machine->ncpus : 1;
    size_t nworker_counts = counts_doubled(ctx->peers->size, worker_counts, WORKER_COUNTS);
    size_t nthread_counts =
        counts_doubled(THREADS_PER_CPU_MOST * cpus, thread_counts, THREAD_COUNTS);
    for (size_t c = 0; c < nworker_counts; c++)
        for (size_t t = 0; t < nthread_counts; t++)
            if ((uint64_t)worker_counts[c] * thread_counts[t] <= THREADS_MOST)
                threads->points[threads->npoints++] =
                    (struct point){.workers = worker_counts[c], .threads = thread_counts[t]};
}

static int threads_setup(struct bench_ctx *ctx)
{
    struct threads *threads = ctx->state;
    threads->gathered = bench_array(ctx, ctx->peers->size, sizeof(*threads->gathered));
    if (!threads->gathered)
        return -ENOMEM;
    return batches_open_target(&threads->batches, &threads->target, ctx);
}

/* Prepares a batch and returns the part of it that lies in the slice, 0 to 1. */
static double run_batch(struct threads *threads, const struct slice *slice)
{
    struct sample sample = {0};
    uint64_t start_ns = clock_now_ns();
    batches_prepare(&threads->batches, threads->done++, threads->target, &sample);
    return slice_part(slice, start_ns, clock_now_ns());
}

static int measure_point(struct bench_ctx *ctx, size_t index)
{
    struct threads *threads = ctx->state;
    struct point *point = &threads->points[index];
    struct slice slice = {0};
    int rc = slice_begin(&slice, ctx, threads->share_s);
    double batches = 0, seconds = slice_seconds(&slice);
    threads->batches.prep.threads = point->threads;
    while (!rc && ctx->peers->rank < point->workers && clock_now_ns() < slice.end_ns)
        batches += run_batch(threads, &slice);
    if (!rc)
        rc = peers_gather(ctx->peers, &batches, threads->gathered, sizeof(batches), ctx->err);
    const struct batch_params *params = ctx->params;
    for (unsigned r = 0; !rc && r < point->workers; r++) {
        point->rate += threads->gathered[r] * (double)params->rows / seconds;
        point->step_us += 1e6 * seconds / threads->gathered[r] / point->workers;
    }
    return rc;
}

static void emit_point(struct bench_ctx *ctx, size_t index)
{
    const struct threads *threads = ctx->state;
    const struct point *point = &threads->points[index];
    const struct dims at = DIMS({BY_WORKERS, point->workers}, {BY_THREADS, point->threads});
    if (!isfinite(point->step_us)) /* a worker came too late: the point has no value */
        return;
    bench_emit(ctx, METRIC_RATE, point->rate, at);
    bench_emit(ctx, METRIC_STEP, point->step_us, at);
}

/* Takes points first..n-1, which have the same number of workers and growing teams. */
static void emit_best(struct bench_ctx *ctx, size_t first, size_t n)
{
    const struct threads *threads = ctx->state;
    const struct point *points = threads->points;
    double best = 0;
    size_t setting = first, cliff = n;
    for (size_t i = first; i < n; i++) {
        if (cliff == n && points[i].rate < 0.5 * best)
            cliff = i;
        best = fmax(best, points[i].rate);
    }
    while (setting + 1 < n && !(points[setting].rate >= 0.97 * best))
        setting++;
    const struct dims at = DIMS({BY_WORKERS, points[first].workers});
    bench_emit(ctx, METRIC_BEST, points[setting].threads, at);
    if (cliff < n)
        bench_emit(ctx, METRIC_CLIFF, points[cliff].threads, at);
}

static int threads_scan(struct bench_ctx *ctx)
{
    struct threads *threads = ctx->state;
    threads->batches.prep.least_team = NULL; /* teams differ on purpose */
    list_points(threads, ctx);
    threads->share_s = ctx->budget_s / (double)threads->npoints;
    int rc = points_run(ctx, threads->npoints, measure_point, emit_point);
    for (size_t first = 0, n; !rc && first < threads->npoints; first = n) {
        for (n = first;
             n < threads->npoints && threads->points[n].workers == threads->points[first].workers;)
            n++;
        emit_best(ctx, first, n);
    }
    threads->batches.prep.threads = ctx->threads;
    return rc;
}

static int threads_check(struct bench_ctx *ctx)
{
    struct threads *threads = ctx->state;
    struct sample sample = {0};
    uint64_t batch = threads->done;
    batches_poison(&threads->batches);
    batches_poison_target(&threads->batches, threads->target);
    batches_prepare(&threads->batches, batch, threads->target, &sample);
    return batches_check(&threads->batches, batch, threads->target, ctx->err);
}

const struct bench bench_threads = {
    .name = "threads",
    .summary = "what workers prepare by how many threads each has, up to four times the CPUs",
    .opts = threads_opts,
    .params_size = sizeof(struct batch_params),
    .metrics = threads_metrics,
    .dims = threads_dims,
    .figures = threads_figures,
    .gang = true,
    .validate = batches_validate,
    .state_size = sizeof(struct threads),
    .setup = threads_setup,
    .scan = threads_scan,
    .check = threads_check,
};

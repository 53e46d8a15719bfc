#include "bench/copy/gpu_copy_scan.h"

#ifdef CONTEND_HAVE_CUDA

#include "bench/common/points.h"
#include "bench/registry.h"
#include "harness/lib/stats.h"
#include "harness/lib/sys/clock.h"

enum { LATENCY_LEAST = 200 };

static const double latency_share = 0.1; /* of the benchmark's time */

/* Runs `what` on a CPU of the GPU's node. Leaves out the GPU on which an error occurs. */
static int run_on_home_node(struct copy_scan *scan, void (*what)(void *job), unsigned gpu)
{
    struct copy_job *job = &scan->job;
    team_call(&scan->team, scan->shape.home[gpu], what, job);
    if (!job->rc)
        return 0;
    unsigned at = gpu_copy_selected(scan->copy);
    if (!gpu_set_has(&scan->set, at))
        at = job->flow[0].gpu;
    const struct dims point = copy_point_dims(&scan->shape, job->point, gpu);
    (void)gpu_error_of(job->rc, dims_format(&bench_gpu_copy, &point), &job->err);
    scan->set.why = job->err;
    return gpu_set_drop(&scan->set, at, job->rc);
}

/* Why the node of the point's host memory is left out; code 0 = it is not. */
static struct err dropped_node(const struct copy_scan *scan, const struct copy_point *point)
{
    bool of_one = !point->all && !copy_is_between_gpus(point);
    return of_one ? scan->host.dropped[point->node] : (struct err){0};
}

bool copy_point_runs(const struct copy_scan *scan, const struct copy_point *point)
{
    if (dropped_node(scan, point).code)
        return false;
    if (point->all)
        return gpu_set_left(&scan->set) > 1;
    if (point->dir == COPY_TO_ONE || point->dir == COPY_FROM_ONE)
        return gpu_set_has(&scan->set, point->gpu) && gpu_set_left(&scan->set) > 2;
    return gpu_set_has(&scan->set, point->gpu) &&
           (!copy_is_between_gpus(point) || gpu_set_has(&scan->set, point->peer));
}

static void emit_gpu(struct copy_scan *scan, struct bench_ctx *ctx, const struct copy_point *point,
                     unsigned gpu, double gbps)
{
    double *alone = &scan->alone[point->dir][gpu];
    bench_emit(ctx, COPY_BANDWIDTH, gbps, copy_point_dims(&scan->shape, point, gpu));
    if (point->all && *alone > 0)
        bench_emit(ctx, COPY_SHARED, gbps / *alone, DIMS({BY_DIR, point->dir}, {BY_GPU, gpu}));
    if (!point->all && !copy_is_between_gpus(point) && point->node == scan->shape.home[gpu] &&
        point->mem == COPY_PINNED && point->via == COPY_CE)
        *alone = gbps;
}

static void store_bandwidth(struct copy_scan *scan, size_t i)
{
    const struct copy_point *point = &scan->points[i];
    struct copy_job *job = &scan->job;
    if (!point->all)
        scan->gbps[i] = stats_sort_median(job->gbps[point->gpu], job->batches);
    for (unsigned gpu = 0; gpu < scan->shape.ngpus && point->all; gpu++)
        scan->all[point->dir][gpu] = stats_sort_median(job->gbps[gpu], job->batches);
}

/* After a GPU failed, measures again without it, while enough GPUs are left. */
static void measure_bandwidth(struct copy_scan *scan, size_t i)
{
    const struct copy_point *point = &scan->points[i];
    uint64_t start_ns = clock_now_ns();
    scan->job.share_s = scan->left_s / (double)scan->nleft--;
    while (copy_point_runs(scan, point)) {
        copy_job_set_point(&scan->job, point);
        if (run_on_home_node(scan, copy_job_run, scan->job.flow[0].gpu))
            continue;
        store_bandwidth(scan, i);
        break;
    }
    scan->left_s -= (double)(clock_now_ns() - start_ns) * 1e-9;
}

static void emit_bandwidth(struct copy_scan *scan, struct bench_ctx *ctx, size_t i)
{
    const struct copy_point *point = &scan->points[i];
    const struct err dropped = dropped_node(scan, point);
    if (gpu_set_has(&scan->set, point->gpu) &&
        bench_emit_absent(ctx, COPY_BANDWIDTH, &dropped,
                          copy_point_dims(&scan->shape, point, point->gpu)))
        return;
    if (!copy_point_runs(scan, point))
        return;
    if (!point->all)
        emit_gpu(scan, ctx, point, point->gpu, scan->gbps[i]);
    for (unsigned gpu = 0; gpu < scan->shape.ngpus && point->all; gpu++)
        if (gpu_set_has(&scan->set, gpu))
            emit_gpu(scan, ctx, point, gpu, scan->all[point->dir][gpu]);
}

static void measure_latency(struct copy_scan *scan, const struct bench_ctx *ctx,
                            struct copy_small *small)
{
    const double usual_s = 10e-6;
    struct copy_job *job = &scan->job;
    if (!copy_point_runs(scan, small->point))
        return;
    double samples = ctx->budget_s * latency_share / (double)scan->nsmall / usual_s;
    copy_job_set_point(job, small->point);
    job->flow[0].bytes = small->bytes;
    job->samples = samples < LATENCY_LEAST  ? LATENCY_LEAST
                   : samples > COPY_SAMPLES ? COPY_SAMPLES
                                            : (unsigned)samples;
    if (run_on_home_node(scan, copy_job_latency, small->point->gpu))
        return;
    small->p50_ns = stats_sort_median(job->ns, job->samples); /* sorts job->ns */
    small->p99_ns = stats_nearest_rank(job->ns, job->samples, 99);
}

static void emit_latency(struct bench_ctx *ctx, const struct copy_small *small)
{
    const struct dims at = DIMS({BY_DIR, small->point->dir}, {BY_GPU, small->point->gpu},
                                {BY_SIZE, (double)small->bytes});
    if (!copy_point_runs(ctx->state, small->point))
        return;
    bench_emit(ctx, COPY_LATENCY, small->p50_ns * 1e-3, dims_with(at, BY_STAT, STAT_P50));
    bench_emit(ctx, COPY_LATENCY, small->p99_ns * 1e-3, dims_with(at, BY_STAT, STAT_P99));
}

/* Index i: bandwidths first, then latencies of copies, then of loads. */
static int measure_point(struct bench_ctx *ctx, size_t i)
{
    struct copy_scan *scan = ctx->state;
    if (i < scan->npoints)
        measure_bandwidth(scan, i);
    else if (i < scan->npoints + scan->nsmall)
        measure_latency(scan, ctx, &scan->small[i - scan->npoints]);
    else
        copy_walks_measure(&scan->walks, i - scan->npoints - scan->nsmall, &scan->job, &scan->team,
                           &scan->set);
    return gpu_set_check(&scan->set, ctx->err);
}

static void emit_point(struct bench_ctx *ctx, size_t i)
{
    struct copy_scan *scan = ctx->state;
    if (i < scan->npoints)
        emit_bandwidth(scan, ctx, i);
    else if (i < scan->npoints + scan->nsmall)
        emit_latency(ctx, &scan->small[i - scan->npoints]);
    else
        copy_walks_emit(ctx, &scan->walks, i - scan->npoints - scan->nsmall, CHASE_LATENCY,
                        &scan->set);
}

static int emit_machine(const struct copy_scan *scan, struct bench_ctx *ctx)
{
    const struct copy_shape *shape = &scan->shape;
    double share;
    int rc = 0;
    for (unsigned a = 0; a < shape->ngpus; a++)
        for (unsigned b = 0; b < shape->ngpus; b++)
            if (a != b && gpu_set_has(&scan->set, a) && gpu_set_has(&scan->set, b))
                bench_emit(ctx, PEER_ACCESS, shape->direct[a][b],
                           DIMS({BY_SOURCE, a}, {BY_TARGET, b}));
    for (unsigned mem = 0; mem < COPY_MEMS; mem++)
        bench_emit(ctx, COPY_SIZE, (double)copy_host_bytes(&scan->host, (enum copy_mem)mem),
                   DIMS({BY_MEM, mem}));
    for (unsigned node = 0; node < shape->nnodes && shape->bound && !rc; node++) {
        if (scan->host.dropped[node].code)
            continue;
        rc = copy_host_share(&scan->host, node, &share, ctx->err);
        if (!rc)
            bench_emit(ctx, BUFFER_ON_NODE, share, DIMS({BY_NODE, shape->os_node[node]}));
    }
    return rc;
}

int copy_scan(struct bench_ctx *ctx)
{
    struct copy_scan *scan = ctx->state;
    scan->left_s = ctx->budget_s * (1 - latency_share);
    scan->nleft = scan->npoints;
    int rc = emit_machine(scan, ctx);
    if (!rc)
        rc = points_run(ctx, scan->npoints + scan->nsmall + scan->walks.n, measure_point,
                        emit_point);
    if (!rc)
        gpu_set_emit(ctx, &scan->set, COPY_BANDWIDTH, BY_GPU);
    return rc;
}

#endif

#ifdef CONTEND_HAVE_CUDA

#include <errno.h>
#include <stdlib.h>

#include "bench/registry.h"
#include "kernels/gpu/gpu_chase.h"

int copy_walks_open(struct copy_walks *walks, const struct copy_shape *shape,
                    const struct copy_filter *filter, uint64_t seed, struct err *err)
{
    *walks = (struct copy_walks){.shape = shape, .seed = seed};
    walks->n = copy_chases(shape, filter, NULL, 0);
    walks->chases = calloc(walks->n + 1, sizeof(*walks->chases));
    walks->ns = calloc(walks->n + 1, sizeof(*walks->ns));
    if (!walks->chases || !walks->ns)
        return err_set(err, -ENOMEM, "cannot allocate %zu chains of loads", walks->n);
    (void)copy_chases(shape, filter, walks->chases, walks->n);
    return 0;
}

static bool has_gpus(const struct gpu_set *set, const struct copy_chase *chase)
{
    return gpu_set_has(set, chase->gpu) &&
           (chase->mem != CHASE_PEER || gpu_set_has(set, chase->peer));
}

/* The chain uses the memory that copies write to. */
static void *memory_of(const struct copy_job *job, const struct copy_chase *chase)
{
    if (chase->mem == CHASE_HOST)
        return copy_host_to(job->host, COPY_PINNED, chase->gpu, job->host->shape->home[chase->gpu]);
    return gpu_copy_target(job->copy, chase->mem == CHASE_PEER ? chase->peer : chase->gpu);
}

struct walk {
    struct copy_job *job;
    const struct copy_chase *chase;
    uint64_t seed;
    double ns;
};

static void walk_run(void *any_walk)
{
    struct walk *walk = any_walk;
    struct copy_job *job = walk->job;
    job->rc =
        gpu_chase(job->set->machine->gpus[walk->chase->gpu].pci_bdf, memory_of(job, walk->chase),
                  copy_host_bytes(job->host, COPY_PINNED), walk->seed, &walk->ns, &job->err);
}

void copy_walks_measure(struct copy_walks *walks, size_t i, struct copy_job *job, struct team *team,
                        struct gpu_set *set)
{
    const struct copy_chase *chase = &walks->chases[i];
    struct walk walk = {.job = job, .chase = chase, .seed = walks->seed};
    if (!has_gpus(set, chase))
        return;
    team_call(team, walks->shape->home[chase->gpu], walk_run, &walk);
    walks->ns[i] = walk.ns;
    if (!job->rc)
        return;
    const struct dims at = copy_chase_dims(walks->shape, chase);
    (void)gpu_error_of(job->rc, dims_format(&bench_gpu_copy, &at), &job->err);
    set->why = job->err;
    (void)gpu_set_drop(set, chase->gpu, job->rc);
}

void copy_walks_emit(struct bench_ctx *ctx, const struct copy_walks *walks, size_t i,
                     unsigned metric, const struct gpu_set *set)
{
    if (has_gpus(set, &walks->chases[i]))
        bench_emit(ctx, metric, walks->ns[i], copy_chase_dims(walks->shape, &walks->chases[i]));
}

void copy_walks_close(struct copy_walks *walks)
{
    free(walks->ns);
    free(walks->chases);
    *walks = (struct copy_walks){0};
}

#endif

#include "bench/cpu/grain.h"

#include <errno.h>
#include <math.h>
#include <sched.h>

#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/registry.h"
#include "harness/lib/bitset.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/regions.h"
#include "kernels/cpu/relax.h"

/*
 * How long a parallel region must be so that several teams on one machine hardly slow each other
 * down. Competing workers do the same work in regions from microseconds to a quarter of a second.
 *
 * For each point, all workers run parallel regions (kernels/cpu/regions.h) at once, for a slice of
 * time. To place a program on the curve, use the work of its regions: `pipeline` and `train` print
 * it below their table.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `region_time` = us of a region: the slice / regions in it; a
 * region that lies partly in the slice counts in part. The mean over workers.
 * `region_slowdown` = region_time / (workers x work / CPUs), the time of a region if the machine
 * were divided without loss. 1 is the best value on equal CPUs. Keys: us= is the work of a region,
 * as CPU time of one thread that has the machine for itself. Worker 0 finds the steps of that work
 * while the other workers sleep. Slices of a round are in random order, and their first third does
 * not count.
 * With `barrier`, plain threads form the team and wait after each region as
 * bench/cpu/grain.h says. The time of a region then runs from the end of thread 0's part of
 * the previous region to the end of its part of this region, with the barrier in between.
 * **Source** kernels/cpu/regions.h names it; bench/cpu/grain.h names the other barriers'.
 * **Limits** The work touches no memory and waits for no GPU: losses in caches and bandwidth come
 * on top. Points whose region would fill more than a quarter of their slice are left out. If SMT
 * siblings share a core, or clocks fall when all CPUs work, even the best value is above 1.
 */

enum { FILL_SHARE = 4 };

static const unsigned work_us[] = {4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144};
enum { WORKS = sizeof(work_us) / sizeof(work_us[0]) };
static const char *const us_names[] = {"all",  "4",     "16",    "64",     "256", "1024",
                                       "4096", "16384", "65536", "262144", NULL};

/* OpenMP's own barrier, then the kinds in the order of enum team_wait. */
static const char *const barrier_names[] = {"omp", "spin", "yield", "futex", NULL};

struct grain_params {
    int barrier, us;
};

static const struct opt grain_opts[] = {
    OPT_CHOICE("barrier", grain_params, barrier, "omp", barrier_names, "KIND",
               "how threads wait for each other: as OpenMP does, or plain threads that spin for "
               "ever, that spin and then yield, or that sleep"),
    OPT_CHOICE("us", grain_params, us, "all", us_names, "US",
               "only regions of this much work, in microseconds of one thread"),
    {.name = NULL},
};

enum { BY_US = 1 };
static const struct bench_dim grain_dims[] = {[BY_US] = {"us"}, {.name = NULL}};

enum { METRIC_SLOWDOWN, METRIC_TIME, METRIC_TEAMS };
static const struct bench_metric grain_metrics[] = {
    {"region_slowdown", "ratio", "lower"},
    {"region_time", "us", "lower", .hidden = true, .gating = true},
    {"grain_teams", "teams", "none"},
    {.name = NULL},
};

static const struct bench_figure grain_figures[] = {
    {.name = "grain",
     .kind = FIGURE_LINES,
     .metric = "region_slowdown",
     .title = "slowdown of several teams, by how finely their work is divided",
     .how = "All workers at once",
     .note = "A run of pipeline or train says below its table how much work its regions have",
     .x = {"work of a parallel region (time of one thread, log scale)", BY_US, .log = true,
           .ticks = FIGURE_TICKS_US},
     .y = {"slowdown: time of a region / ideal (log scale)", .log = true}},
    {.name = NULL},
};

/* Values that workers exchange; all use the speed of rank 0. */
struct worker_info {
    struct bitset cpus;
    double steps_a_us;
};

struct grain {
    struct regions_thread *threads; /* of the team */
    unsigned nthreads;
    struct team team; /* empty with OpenMP */
    struct team_barrier barrier;
    double steps_a_us;
    unsigned cpus; /* of all workers */
    size_t first, npoints;
    double share_s;
    void *gathered; /* one entry per worker: a struct worker_info, or a double */
};

static int grain_setup(struct bench_ctx *ctx)
{
    const struct grain_params *params = ctx->params;
    struct grain *grain = ctx->state;
    grain->nthreads = ctx->threads;
    grain->gathered = bench_array(ctx, ctx->peers->size, sizeof(struct worker_info));
    grain->threads = bench_array(ctx, grain->nthreads, sizeof(*grain->threads));
    if (!grain->gathered || !grain->threads)
        return -ENOMEM;
    for (unsigned t = 0; t < grain->nthreads; t++)
        busy_begin(grain->threads[t].chains, ctx->seed + (uint64_t)t * BUSY_CHAINS);
    if (!params->barrier)
        return 0;
    grain->barrier.n = grain->nthreads;
    grain->barrier.wait = (enum team_wait)(params->barrier - 1);
    return team_open_unpinned(&grain->team, ctx, grain->nthreads);
}

static int exchange_info(struct bench_ctx *ctx)
{
    struct grain *grain = ctx->state;
    struct worker_info mine = {.steps_a_us = ctx->peers->rank == 0 ? busy_measure_speed() : 0};
    struct worker_info *all = grain->gathered;
    struct bitset cpus = {0};
    for (unsigned i = 0; i < ctx->machine->ncpus; i++)
        bitset_set(&mine.cpus, ctx->machine->cpus[i].os_cpu);
    int rc = peers_gather(ctx->peers, &mine, all, sizeof(mine), ctx->err);
    for (unsigned r = 0; !rc && r < ctx->peers->size; r++)
        bitset_or(&cpus, &all[r].cpus);
    grain->steps_a_us = all[0].steps_a_us;
    grain->cpus = bitset_count(&cpus);
    if (!rc && !(grain->steps_a_us > 0))
        rc = err_set(ctx->err, -ENOTSUP, "the CPU time of a thread cannot be measured here");
    return rc;
}

/* Time of a region if the machine is divided without loss. */
static double ideal_us(const struct bench_ctx *ctx, size_t point)
{
    const struct grain *grain = ctx->state;
    return (double)work_us[point] * ctx->peers->size / grain->cpus;
}

static void mark_cpu(void *cpu_samples)
{
    cpu_samples_mark(cpu_samples);
}

/* Regions of `steps` steps until the slice ends; `regions` counts those within the slice. */
struct region_run {
    const struct bench_ctx *ctx;
    const struct slice *slice;
    uint64_t steps;
    double regions;
    _Atomic uint64_t last; /* region, from 1 on: set before the barrier after that region */
};

static unsigned run_openmp_team(struct region_run *region_run)
{
    const struct grain *grain = region_run->ctx->state;
    unsigned team = 0;
    while (clock_now_ns() < region_run->slice->end_ns) {
        uint64_t start_ns = clock_now_ns();
        team = regions_run(grain->threads, grain->nthreads, region_run->steps, mark_cpu,
                           region_run->ctx->cpu_samples);
        region_run->regions += slice_part(region_run->slice, start_ns, clock_now_ns());
        bench_progress(region_run->ctx, 1);
    }
    return team;
}

/*
 * Thread 0 decides before the barrier whether the region is the last one. A thread that reads
 * `last` late may see the decision about the next region; that has another number, so the thread
 * goes on.
 */
static void run_plain_threads(void *arg, unsigned rank, unsigned n)
{
    struct region_run *region_run = arg;
    struct grain *grain = region_run->ctx->state;
    uint64_t start_ns = clock_now_ns(), region = 0;
    do {
        mark_cpu(region_run->ctx->cpu_samples);
        regions_share(grain->threads, rank, n, region_run->steps);
        region++;
        if (rank == 0) {
            uint64_t now_ns = clock_now_ns();
            bench_progress(region_run->ctx, 1);
            region_run->regions += slice_part(region_run->slice, start_ns, now_ns);
            start_ns = now_ns;
            if (now_ns >= region_run->slice->end_ns)
                atomic_store(&region_run->last, region);
        }
        team_barrier_wait(&grain->barrier);
    } while (atomic_load(&region_run->last) != region);
}

/* Returns the number of regions in the slice, with fractions at its ends. */
static double run_regions(const struct bench_ctx *ctx, size_t point, const struct slice *slice)
{
    struct grain *grain = ctx->state;
    struct region_run region_run = {
        .ctx = ctx, .slice = slice, .steps = (uint64_t)(grain->steps_a_us * work_us[point])};
    unsigned team = grain->nthreads;
    if (grain->team.n)
        (void)team_run(&grain->team, NULL, team, run_plain_threads, &region_run);
    else
        team = run_openmp_team(&region_run);
    if (ctx->least_team && team && (!*ctx->least_team || team < *ctx->least_team))
        *ctx->least_team = team;
    return region_run.regions;
}

static int measure_point(struct bench_ctx *ctx, size_t index)
{
    struct grain *grain = ctx->state;
    size_t point = grain->first + index;
    double *times_us = grain->gathered;
    struct slice slice = {0};
    int rc = slice_begin(&slice, ctx, grain->share_s);
    double regions = rc ? 0 : run_regions(ctx, point, &slice);
    /* A worker without a region came too late: NaN leaves the point without a value. */
    double mine_us = regions > 0 ? 1e6 * slice_seconds(&slice) / regions : (double)NAN;
    if (!rc)
        rc = peers_gather(ctx->peers, &mine_us, times_us, sizeof(mine_us), ctx->err);
    if (rc)
        return rc;
    double time_us = 0;
    for (unsigned r = 0; r < ctx->peers->size; r++)
        time_us += times_us[r] / ctx->peers->size;
    bench_emit(ctx, METRIC_SLOWDOWN, time_us / ideal_us(ctx, point), DIMS({BY_US, work_us[point]}));
    bench_emit(ctx, METRIC_TIME, time_us, DIMS({BY_US, work_us[point]}));
    return 0;
}

static int grain_scan(struct bench_ctx *ctx)
{
    const struct grain_params *params = ctx->params;
    struct grain *grain = ctx->state;
    size_t most = params->us ? 1 : WORKS;
    int rc = exchange_info(ctx);
    if (rc)
        return rc;
    grain->first = params->us ? (size_t)params->us - 1 : 0;
    grain->share_s = ctx->budget_s / (double)most;
    while (grain->npoints < most &&
           ideal_us(ctx, grain->first + grain->npoints) * FILL_SHARE <= 1e6 * grain->share_s)
        grain->npoints++;
    if (grain->npoints == 0)
        return err_set(ctx->err, -ENOTSUP, "too little time for a slice");
    grain->share_s = ctx->budget_s / (double)grain->npoints;
    bench_emit(ctx, METRIC_TEAMS, ctx->peers->size, NO_DIMS);
    return points_run(ctx, grain->npoints, measure_point, NULL);
}

/* Each thread's chains end where its counted steps lead. */
static int grain_check(struct bench_ctx *ctx)
{
    const struct grain *grain = ctx->state;
    for (unsigned t = 0; t < grain->nthreads; t++)
        if (!busy_is_right(grain->threads[t].chains, ctx->seed + (uint64_t)t * BUSY_CHAINS,
                           grain->threads[t].steps))
            return err_set(ctx->err, -EBADMSG,
                           "the chains of thread %u are not what its steps make", t);
    return 0;
}

const struct bench bench_grain = {
    .name = "grain",
    .summary = "what teams of several workers lose, by how much work their regions have",
    .opts = grain_opts,
    .params_size = sizeof(struct grain_params),
    .metrics = grain_metrics,
    .dims = grain_dims,
    .figures = grain_figures,
    .gang = true,
    .state_size = sizeof(struct grain),
    .setup = grain_setup,
    .scan = grain_scan,
    .check = grain_check,
};

enum { SPINS_BEFORE_YIELD = 2048 };

static void spin_while(const _Atomic uint32_t *passed, uint32_t seen)
{
    while (atomic_load_explicit(passed, memory_order_acquire) == seen)
        cpu_relax();
}

static void yield_while(const _Atomic uint32_t *passed, uint32_t seen)
{
    unsigned spins = 0;
    while (atomic_load_explicit(passed, memory_order_acquire) == seen)
        if (spins < SPINS_BEFORE_YIELD) {
            spins++;
            cpu_relax();
        } else {
            (void)sched_yield();
        }
}

/* The last thread clears `arrived` first: a thread that it releases may arrive again at once. */
void team_barrier_wait(struct team_barrier *barrier)
{
    uint32_t seen = atomic_load(&barrier->passed);
    if (atomic_fetch_add(&barrier->arrived, 1) == barrier->n - 1) {
        atomic_store(&barrier->arrived, 0);
        if (barrier->wait == TEAM_FUTEX)
            futex_set(&barrier->passed, seen + 1);
        else
            atomic_store(&barrier->passed, seen + 1);
    } else if (barrier->wait == TEAM_FUTEX) {
        futex_wait_while(&barrier->passed, seen);
    } else if (barrier->wait == TEAM_YIELD) {
        yield_while(&barrier->passed, seen);
    } else {
        spin_while(&barrier->passed, seen);
    }
}

/*
 * How long a parallel region has to be before several teams on one machine get out of each other's
 * way: the same work in regions from microseconds to a quarter of a second, by workers that fight.
 *
 * Each worker runs one region after the other (kernels/cpu/regions.h), all at once, for a slice of
 * time a point. A program finds its place by the work of its own regions: `pipeline` and `train`
 * say theirs below their table.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `region_time` = us of a region, the slice over the regions
 * in it, a part of one at its ends counted by its share; the mean over workers.
 * `region_slowdown` = region_time over workers x work / CPUs, which a region would take were the
 * machine divided up and nothing lost; 1 is the best there is on equal CPUs. Keys say us= for the
 * work of a region, as CPU time of one thread that has the machine for itself: worker 0 finds how
 * many steps that are while the others sleep. Slices of a round are in random order, and their
 * first third does not count.
 * With `barrier`, the team is not OpenMP's but one of plain threads that meet after each region as
 * bench/cpu/team_barrier.h says; the time of a region is then from the end of thread 0's part of
 * the one before to the end of its part of this one, with the meeting between.
 * **Source** kernels/cpu/regions.h names it; of other barriers, bench/cpu/team_barrier.h.
 * **Limits** No memory is touched, and nothing waits for a GPU: what caches and bandwidth take
 * comes on top. Points whose region would fill more than a quarter of their slice are left out.
 * Where siblings share a core, or clocks fall when all CPUs work, even the best is above 1.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/points.h"
#include "bench/common/slice.h"
#include "bench/common/team.h"
#include "bench/cpu/team_barrier.h"
#include "bench/registry.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/sys/clock.h"
#include "kernels/cpu/regions.h"

/* So long that a clock which was low comes up, and that a neighbour who shares the core, or takes
 * the CPU from a virtual machine, leaves it at times. */
enum { FILL_SHARE = 4, CALIBRATIONS = 64 };
static const uint64_t calibration_steps = 1 << 18; /* a millisecond */

static const unsigned work_us[] = {4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144};
enum { WORKS = sizeof(work_us) / sizeof(work_us[0]) };
static const char *const us_names[] = {"all",  "4",     "16",    "64",     "256", "1024",
                                       "4096", "16384", "65536", "262144", NULL};

/* OpenMP's own, and then as enum team_wait. */
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

/* Values that all workers must share; rank 0's speed holds for all. */
struct introduction {
    struct bitset cpus;
    double steps_a_us;
};

struct grain {
    struct regions_thread *threads; /* of the team */
    unsigned nthreads;
    struct team team; /* unless OpenMP has it */
    struct team_barrier barrier;
    double steps_a_us;
    unsigned cpus; /* of all workers */
    size_t first, npoints;
    double share_s;
    void *gathered; /* from each worker: an introduction, or a number */
};

static int grain_setup(struct bench_ctx *ctx)
{
    const struct grain_params *params = ctx->params;
    struct grain *grain = ctx->state;
    grain->nthreads = ctx->threads;
    grain->gathered = bench_array(ctx, ctx->peers->size, sizeof(struct introduction));
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

/* CPU time, since others of the machine may take the CPU meanwhile; the least is the least so. */
static double measure_speed(void)
{
    uint64_t chains[BUSY_CHAINS] = {0};
    double best = 0;
    for (unsigned i = 0; i < CALIBRATIONS; i++) {
        uint64_t start_ns = clock_thread_cpu_ns();
        busy_run(chains, calibration_steps);
        double took_us = 1e-3 * (double)(clock_thread_cpu_ns() - start_ns);
        best = fmax(best, took_us > 0 ? (double)calibration_steps / took_us : 0);
    }
    return best;
}

static int introduce(struct bench_ctx *ctx)
{
    struct grain *grain = ctx->state;
    struct introduction mine = {.steps_a_us = ctx->peers->rank == 0 ? measure_speed() : 0};
    struct introduction *all = grain->gathered;
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

/* Without loss. */
static double ideal_us(const struct bench_ctx *ctx, size_t point)
{
    const struct grain *grain = ctx->state;
    return (double)work_us[point] * ctx->peers->size / grain->cpus;
}

static void mark_cpu(void *cpu_samples)
{
    cpu_samples_mark(cpu_samples);
}

/* Regions of so many steps up to the end of the slice, and how many of them lie in it. */
struct stretch {
    const struct bench_ctx *ctx;
    const struct slice *slice;
    uint64_t steps;
    double regions;
    _Atomic uint64_t last; /* region, from 1 on: known before the threads meet behind it */
};

static unsigned run_openmp(struct stretch *stretch)
{
    const struct grain *grain = stretch->ctx->state;
    unsigned team = 0;
    while (clock_now_ns() < stretch->slice->end_ns) {
        uint64_t start_ns = clock_now_ns();
        team = regions_run(grain->threads, grain->nthreads, stretch->steps, mark_cpu,
                           stretch->ctx->cpu_samples);
        stretch->regions += slice_part(stretch->slice, start_ns, clock_now_ns());
        bench_progress(stretch->ctx, 1);
    }
    return team;
}

/*
 * Thread 0 decides before the meeting whether the region is the last one. A thread that reads that
 * late may see the decision about the next region, which is another number.
 */
static void run_own(void *arg, unsigned rank, unsigned n)
{
    struct stretch *stretch = arg;
    struct grain *grain = stretch->ctx->state;
    uint64_t start_ns = clock_now_ns(), region = 0;
    do {
        mark_cpu(stretch->ctx->cpu_samples);
        regions_share(grain->threads, rank, n, stretch->steps);
        region++;
        if (rank == 0) {
            uint64_t now_ns = clock_now_ns();
            bench_progress(stretch->ctx, 1);
            stretch->regions += slice_part(stretch->slice, start_ns, now_ns);
            start_ns = now_ns;
            if (now_ns >= stretch->slice->end_ns)
                atomic_store(&stretch->last, region);
        }
        team_barrier_wait(&grain->barrier);
    } while (atomic_load(&stretch->last) != region);
}

/* Returns how many regions lie in the slice, parts of one at its ends included. */
static double run_regions(const struct bench_ctx *ctx, size_t point, const struct slice *slice)
{
    struct grain *grain = ctx->state;
    struct stretch stretch = {
        .ctx = ctx, .slice = slice, .steps = (uint64_t)(grain->steps_a_us * work_us[point])};
    unsigned team = grain->nthreads;
    if (grain->team.n)
        (void)team_run(&grain->team, NULL, team, run_own, &stretch);
    else
        team = run_openmp(&stretch);
    if (ctx->least_team && team && (!*ctx->least_team || team < *ctx->least_team))
        *ctx->least_team = team;
    return stretch.regions;
}

static int measure_point(struct bench_ctx *ctx, size_t index)
{
    struct grain *grain = ctx->state;
    size_t point = grain->first + index;
    double *times_us = grain->gathered;
    struct slice slice = {0};
    int rc = slice_begin(&slice, ctx, grain->share_s);
    double regions = rc ? 0 : run_regions(ctx, point, &slice);
    /* Without any it came too late: that is no value of the point. */
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
    int rc = introduce(ctx);
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

/* Each thread's chains are what so many steps make of their starts. */
static int grain_check(struct bench_ctx *ctx)
{
    const struct grain *grain = ctx->state;
    for (unsigned t = 0; t < grain->nthreads; t++)
        if (!busy_came(grain->threads[t].chains, ctx->seed + (uint64_t)t * BUSY_CHAINS,
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

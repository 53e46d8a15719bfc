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
 * **Source** kernels/cpu/regions.h names it.
 * **Limits** No memory is touched, and nothing waits for a GPU: what caches and bandwidth take
 * comes on top. Points whose region would fill more than a quarter of their slice are left out.
 * Where siblings share a core, or clocks fall when all CPUs work, even the best is above 1.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/points.h"
#include "bench/common/slice.h"
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
    double steps_a_us;
    unsigned cpus; /* of all workers */
    size_t npoints;
    double share_s;
    void *gathered; /* from each worker: an introduction, or a number */
};

static int grain_setup(struct bench_ctx *ctx)
{
    struct grain *grain = ctx->state;
    grain->nthreads = ctx->threads;
    grain->gathered = bench_array(ctx, ctx->peers->size, sizeof(struct introduction));
    grain->threads = bench_array(ctx, grain->nthreads, sizeof(*grain->threads));
    if (!grain->gathered || !grain->threads)
        return -ENOMEM;
    for (unsigned t = 0; t < grain->nthreads; t++)
        busy_begin(grain->threads[t].chains, ctx->seed + (uint64_t)t * BUSY_CHAINS);
    return 0;
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

/* One region, and which part of it lies in the slice. */
static double run_region(const struct bench_ctx *ctx, size_t point, const struct slice *slice)
{
    struct grain *grain = ctx->state;
    uint64_t steps = (uint64_t)(grain->steps_a_us * work_us[point]);
    uint64_t start_ns = clock_now_ns();
    unsigned team = regions_run(grain->threads, grain->nthreads, steps, mark_cpu, ctx->cpu_samples);
    uint64_t done_ns = clock_now_ns();
    bench_progress(ctx, 1);
    if (ctx->least_team && (!*ctx->least_team || team < *ctx->least_team))
        *ctx->least_team = team;
    return slice_part(slice, start_ns, done_ns);
}

static int measure_point(struct bench_ctx *ctx, size_t point)
{
    struct grain *grain = ctx->state;
    double *times_us = grain->gathered;
    struct slice slice = {0};
    int rc = slice_begin(&slice, ctx, grain->share_s);
    double regions = 0;
    while (!rc && clock_now_ns() < slice.end_ns)
        regions += run_region(ctx, point, &slice);
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
    struct grain *grain = ctx->state;
    int rc = introduce(ctx);
    if (rc)
        return rc;
    grain->share_s = ctx->budget_s / WORKS;
    while (grain->npoints < WORKS &&
           ideal_us(ctx, grain->npoints) * FILL_SHARE <= 1e6 * grain->share_s)
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
    .metrics = grain_metrics,
    .dims = grain_dims,
    .figures = grain_figures,
    .gang = true,
    .state_size = sizeof(struct grain),
    .setup = grain_setup,
    .scan = grain_scan,
    .check = grain_check,
};

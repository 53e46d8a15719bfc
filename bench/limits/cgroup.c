/*
 * Preprocessing under the limits of a container: how much of the throughput remains, and how long
 * the slowest steps take, under quotas of CPU time, cpusets, limits of memory and of threads.
 *
 * Each point is a process in a cgroup of its own, which has the limit before the process begins. A
 * team of OpenMP threads preprocesses batches as `pipeline` does. Points of `cpu.max` give 1/4, 1/2
 * and all of the time of each CPU; "25000 100000" in that file is a quarter of *one* CPU,
 * regardless of their number. `team=all` has one thread per CPU, like runtimes that ignore the
 * quota; `team=given` has as many threads as CPUs are given. `cpuset` gives the same CPU time by
 * fewer CPUs. For limits of memory the batches are read from a file before each step: half of the
 * file fits besides the process's own memory (`memory.high`, `memory.max`). Two points should fail:
 * one has half of the memory that the process itself needs, one may not start its last thread.
 *
 * **Measures** on CLOCK_MONOTONIC_RAW: `limit_rate` = rows a second; `limit_step` = ms of a step,
 * p50, p99 and max; `share_kept` = the rate / (the rate without a limit * the share given): 1 = the
 * limit costs exactly its share. Over the same steps `cpus_used` = the process's CPU time over
 * time. From the cgroup's counters: `throttled` = time for which it was stopped, of its CPUs' time
 * (throttled_usec); `throttled_periods` = nr_throttled of nr_periods; `refaults` = pages per step
 * that were read, reclaimed and read again; `limit_events` = kills for lack of memory, threads
 * refused. Keys: limit, cpus, period in ms, team, stat; of memory: left, the share of the file that
 * fits. **Source** Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst of the
 * kernel. **Limits** Needs cgroups that can be created, beside our own or below the root: version
 * 2, or version 1 with the CPU controller, for quotas only. A point lasts at least five periods,
 * which may exceed the requested time. No GPU: a worker that waits for a GPU needs less CPU time.
 * Runs without swap, so that only pages of files can be reclaimed; a file system in memory (tmpfs)
 * has none.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/limits/limited.h"
#include "bench/registry.h"
#include "harness/lib/text.h"

enum { PERIODS_LEAST = 5, POINTS_MOST = 24, MIB = 1 << 20 };

static const struct opt cgroup_opts[] = {BATCH_OPTS, {.name = NULL}};

enum { BY_LIMIT = 1, BY_CPUS, BY_PERIOD, BY_TEAM, BY_LEFT, BY_STAT };
enum { LIMIT_NONE, LIMIT_CPU_MAX, LIMIT_CPUSET, LIMIT_HIGH, LIMIT_MEMORY_MAX, LIMIT_PIDS };
enum { TEAM_ALL, TEAM_GIVEN };
static const char *const limit_names[] = {"none",       "cpu.max",  "cpuset", "memory.high",
                                          "memory.max", "pids.max", NULL};
static const struct bench_dim cgroup_dims[] = {
    [BY_LIMIT] = {"limit", .labels = limit_names},
    [BY_CPUS] = {"cpus"},
    [BY_PERIOD] = {"period", .unit = "ms period"},
    [BY_TEAM] = {"team", .labels = LABELS("all", "given"),
                 .labels_long = LABELS("a thread a CPU", "as many as given")},
    [BY_LEFT] = {"left"},
    [BY_STAT] = {"stat", .labels = LABELS("p50", "p99", "max")},
    {.name = NULL},
};

enum {
    LIMIT_RATE,
    LIMIT_STEP,
    SHARE_KEPT,
    CPUS_USED,
    THROTTLED,
    THROTTLED_PERIODS,
    REFAULTS,
    LIMIT_EVENTS
};
static const struct bench_metric cgroup_metrics[] = {
    [LIMIT_RATE] = {"limit_rate", "items/s", "higher", .hidden = true, .gating = true},
    [LIMIT_STEP] = {"limit_step", "ms", "lower"},
    [SHARE_KEPT] = {"share_kept", "ratio", "higher"},
    [CPUS_USED] = {"cpus_used", "CPUs", "none", .hidden = true},
    [THROTTLED] = {"throttled", "ratio", "lower"},
    [THROTTLED_PERIODS] = {"throttled_periods", "ratio", "lower", .hidden = true},
    [REFAULTS] = {"refaults", "pages", "lower", .hide_zeros = true},
    [LIMIT_EVENTS] = {"limit_events", "count", "none"},
    {.name = NULL},
};

static const struct bench_figure cgroup_figures[] = {
    {.name = "limits_tail",
     .kind = FIGURE_LINES,
     .metric = "limit_step",
     .only = &DIMS({BY_STAT, 1}),
     .title = "the slowest steps under a CPU limit",
     .how = "p99 of steps, each process in a cgroup of its own",
     .x = {"CPUs that the limit allows", BY_CPUS},
     .y = {"step time, p99 (ms, log scale)", .log = true},
     .series = {BY_LIMIT, BY_PERIOD, BY_TEAM}},
    {.name = "limits_kept",
     .kind = FIGURE_LINES,
     .metric = "share_kept",
     .title = "throughput per CPU under a CPU limit, relative to no limit",
     .how = "Each process in a cgroup of its own",
     .x = {"CPUs that the limit allows", BY_CPUS},
     .y = {"throughput per CPU / without a limit", .from = 1},
     .series = {BY_LIMIT, BY_PERIOD, BY_TEAM}},
    {.name = NULL},
};

enum kind { NO_LIMIT, CPU_MAX, CPUSET, MEMORY, PIDS, KINDS };
static const char *const controllers[KINDS] = {NULL, "cpu", "cpuset", "memory", "pids"};

/* All limits of memory are one point, since each needs the result of the first. */
enum { MEMORY_FREE, MEMORY_HIGH, MEMORY_MAX, MEMORY_OOM, MEMORIES };
static const struct {
    unsigned limit;
    double left; /* share of the file that fits */
} memories[MEMORIES] = {
    {LIMIT_NONE, 1}, {LIMIT_HIGH, 0.5}, {LIMIT_MEMORY_MAX, 0.5}, {LIMIT_MEMORY_MAX, 0}};

struct point {
    enum kind kind;
    double cpus; /* given by the limit */
    unsigned period_ms, threads;
    struct limited_result result[MEMORIES];
};

struct scan {
    struct groups groups;
    struct err absent[KINDS];
    unsigned ncpus, ngroups;
    double time_s;
    struct batch_file file; /* read under limits of memory */
    struct err no_data;
    size_t npoints;
    struct point points[POINTS_MOST];
};

/* ---- what there is to measure ---- */

static void add_point(struct scan *scan, const struct point *point)
{
    scan->points[scan->npoints++] = *point;
}

static void list_points(struct scan *scan)
{
    static const double shares[] = {0.25, 0.5, 1};
    static const unsigned periods_ms[] = {100, 10};
    unsigned ncpus = scan->ncpus;
    add_point(scan, &(struct point){.kind = NO_LIMIT, .cpus = ncpus});
    for (size_t s = 0; s < 3; s++) {
        struct point point = {.kind = CPU_MAX, .cpus = shares[s] * ncpus};
        for (size_t p = 0; p < 2; p++) {
            point.period_ms = periods_ms[p];
            add_point(scan, &point);
        }
        point.period_ms = periods_ms[0];
        point.threads = (unsigned)fmax(point.cpus, 1);
        if (point.threads < ncpus)
            add_point(scan, &point);
        if (point.cpus >= 1 && point.cpus == floor(point.cpus) && point.cpus < ncpus)
            add_point(scan, &(struct point){.kind = CPUSET, .cpus = point.cpus});
    }
    add_point(scan, &(struct point){.kind = MEMORY, .cpus = ncpus});
    add_point(scan, &(struct point){.kind = PIDS, .cpus = ncpus});
}

/* ---- a point ---- */

static double time_of(const struct scan *scan, const struct point *point)
{
    return fmax(scan->time_s, PERIODS_LEAST * point->period_ms * 1e-3);
}

static struct limited describe_child(struct scan *scan, const struct bench_ctx *ctx,
                                     const struct point *point)
{
    return (struct limited){
        .groups = &scan->groups,
        .index = scan->ngroups++,
        .ctx = ctx,
        .params = ctx->params,
        .threads = point->threads,
        .time_s = time_of(scan, point),
    };
}

static int measure_cpus(struct bench_ctx *ctx, struct point *point)
{
    struct scan *scan = ctx->state;
    struct limited limited = describe_child(scan, ctx, point);
    struct bitset cpus = {0};
    if (point->kind == CPU_MAX) {
        limited.quota_cpus = point->cpus;
        limited.period_ms = point->period_ms;
    }
    for (unsigned i = 0; point->kind == CPUSET && i < (unsigned)point->cpus; i++)
        bitset_set(&cpus, ctx->machine->cpus[i].os_cpu);
    if (point->kind == CPUSET) {
        limited.files[0].name = "cpuset.cpus";
        text_set(limited.files[0].text, "%s", bitset_format(&cpus));
        limited.cpus = &cpus;
    }
    return limited_run(&limited, &point->result[0], ctx->err);
}

static void limit_memory(struct limited *limited, const char *file, double bytes)
{
    const double page = (double)memory_page_bytes();
    limited->files[0].name = file;
    text_set(limited->files[0].text, "%.0f", floor(bytes / page) * page);
}

static void forbid_swap(const struct scan *scan, struct limited *limited)
{
    char dir[GROUPS_PATH_MAX], text[32];
    if (groups_make(&scan->groups, limited->index, dir, sizeof(dir), NULL) ||
        !groups_get(dir, "memory.swap.max", text, sizeof(text)))
        return; /* a kernel without swap */
    limited->files[1] = (struct limited_file){"memory.swap.max", "0"};
}

static int measure_memory(struct bench_ctx *ctx, struct point *point)
{
    struct scan *scan = ctx->state;
    double half_bytes = (double)scan->file.data.file_bytes / 2;
    int rc = 0;
    for (unsigned i = 0; i < MEMORIES && !rc; i++) {
        /* Its own memory, a share for the kernel, and half of the file. */
        double own_bytes = point->result[MEMORY_FREE].anon_bytes * 1.1 + 2 * MIB;
        struct limited limited = describe_child(scan, ctx, point);
        if (i != MEMORY_FREE && !(point->result[MEMORY_FREE].anon_bytes > 0))
            break;
        if (i == MEMORY_OOM)
            limit_memory(&limited, limit_names[memories[i].limit],
                         point->result[MEMORY_FREE].least_bytes / 2);
        else if (i != MEMORY_FREE)
            limit_memory(&limited, limit_names[memories[i].limit], own_bytes + half_bytes);
        if (i != MEMORY_FREE)
            forbid_swap(scan, &limited);
        if (i != MEMORY_OOM)
            limited.file = &scan->file;
        /* A page belongs to the cgroup that reads it first, so evict the file before each run. */
        (void)data_evict(&scan->file.data, NULL);
        rc = limited_run(&limited, &point->result[i], ctx->err);
    }
    return rc;
}

/* The process's first thread counts, too. */
static int measure_pids(struct bench_ctx *ctx, struct point *point)
{
    struct scan *scan = ctx->state;
    struct limited limited = describe_child(scan, ctx, point);
    limited.threads = scan->ncpus > 1 ? scan->ncpus : 2;
    limited.files[0].name = "pids.max";
    text_set(limited.files[0].text, "%u", limited.threads - 1);
    return limited_run(&limited, &point->result[0], ctx->err);
}

static int measure_point(struct bench_ctx *ctx, size_t index)
{
    struct scan *scan = ctx->state;
    struct point *point = &scan->points[index];
    if (scan->absent[point->kind].code)
        return 0;
    if (point->kind == MEMORY)
        return scan->no_data.code ? 0 : measure_memory(ctx, point);
    return point->kind == PIDS ? measure_pids(ctx, point) : measure_cpus(ctx, point);
}

/* ---- its rows ---- */

static struct dims place_of(const struct point *point)
{
    if (point->kind == CPU_MAX)
        return DIMS({BY_LIMIT, LIMIT_CPU_MAX}, {BY_CPUS, point->cpus},
                    {BY_PERIOD, point->period_ms},
                    {BY_TEAM, point->threads ? TEAM_GIVEN : TEAM_ALL});
    if (point->kind == PIDS)
        return DIMS({BY_LIMIT, LIMIT_PIDS});
    return DIMS({BY_LIMIT, point->kind == CPUSET ? LIMIT_CPUSET : LIMIT_NONE},
                {BY_CPUS, point->cpus});
}

/* Reports a child that did not end well. A limit that the kernel refuses is no failure. */
static void emit_end(struct bench_ctx *ctx, const struct limited_result *result, struct dims at)
{
    struct err why = result->why;
    if (result->end == LIMITED_REFUSED)
        why.code = -ENOTSUP;
    (void)bench_emit_absent(ctx, LIMIT_RATE, &why, at);
}

static void emit_steps(struct bench_ctx *ctx, const struct limited_result *result, struct dims at)
{
    const double stats_ms[] = {result->p50_ms, result->p99_ms, result->max_ms};
    bench_emit(ctx, LIMIT_RATE, result->rate, at);
    for (unsigned i = 0; i < 3; i++)
        bench_emit(ctx, LIMIT_STEP, stats_ms[i], dims_with(at, BY_STAT, i));
    bench_emit(ctx, CPUS_USED, result->cpus_used, at);
}

/* Compares with the first point, which has no limit. */
static void emit_cpus(struct bench_ctx *ctx, const struct point *point)
{
    const struct scan *scan = ctx->state;
    const struct limited_result *result = &point->result[0], *free = &scan->points[0].result[0];
    const struct dims at = place_of(point);
    if (result->end != LIMITED_DONE) {
        emit_end(ctx, result, at);
        return;
    }
    emit_steps(ctx, result, at);
    if (point->kind != NO_LIMIT && free->end == LIMITED_DONE)
        bench_emit(ctx, SHARE_KEPT, result->rate / (free->rate * point->cpus / scan->ncpus), at);
    if (point->kind == CPU_MAX) {
        bench_emit(ctx, THROTTLED, result->throttled, at);
        bench_emit(ctx, THROTTLED_PERIODS, result->throttled_periods, at);
    }
}

/* For a limit that must make the child fail: reports the kernel's count of events, and the
 * message. */
static void emit_failing(struct bench_ctx *ctx, const struct limited_result *result, double events,
                         const char *what, struct dims at)
{
    struct err why = {0};
    if (result->end == LIMITED_DONE || result->end == LIMITED_WRONG || !(events > 0)) {
        (void)err_set(&why, -EBADMSG, "under %s it %s", what,
                      result->end == LIMITED_DONE ? "ran as if there were no limit"
                                                  : result->why.msg);
        (void)bench_emit_absent(ctx, LIMIT_EVENTS, &why, at);
        return;
    }
    (void)err_set(&why, -ENOTSUP, "%s: %.180s", what, result->why.msg);
    bench_emit(ctx, LIMIT_EVENTS, events, at);
    (void)bench_emit_absent(ctx, LIMIT_RATE, &why, at);
}

static void emit_memory(struct bench_ctx *ctx, const struct point *point)
{
    const char *what;
    double least_bytes = point->result[MEMORY_FREE].least_bytes;
    for (unsigned i = 0; i < MEMORIES; i++) {
        const struct limited_result *result = &point->result[i];
        const struct dims at = DIMS({BY_LIMIT, memories[i].limit}, {BY_LEFT, memories[i].left});
        what = str_fmt("memory.max of %.1f MiB for one that needs %.1f", least_bytes / 2 / MIB,
                       least_bytes / MIB);
        if (i == MEMORY_OOM && least_bytes > 0)
            emit_failing(ctx, result, result->oom_kills, what, at);
        else if (i && !(least_bytes > 0))
            break; /* the first run failed and is reported */
        else if (result->end != LIMITED_DONE)
            emit_end(ctx, result, at);
        else
            emit_steps(ctx, result, at);
        if (i != MEMORY_OOM && result->end == LIMITED_DONE)
            bench_emit(ctx, REFAULTS, result->refaults, at);
    }
}

static void emit_pids(struct bench_ctx *ctx, const struct point *point)
{
    const struct scan *scan = ctx->state;
    unsigned threads = scan->ncpus > 1 ? scan->ncpus : 2;
    const char *what = str_fmt("pids.max of %u for a team of %u threads", threads - 1, threads);
    emit_failing(ctx, &point->result[0], point->result[0].threads_refused, what, place_of(point));
}

static void emit_point(struct bench_ctx *ctx, size_t index)
{
    const struct scan *scan = ctx->state;
    const struct point *point = &scan->points[index];
    const struct err *absent = scan->absent[point->kind].code ? &scan->absent[point->kind]
                               : point->kind == MEMORY        ? &scan->no_data
                                                              : NULL;
    const struct dims at =
        point->kind == MEMORY ? DIMS({BY_LIMIT, LIMIT_MEMORY_MAX}) : place_of(point);
    if (absent && bench_emit_absent(ctx, LIMIT_RATE, absent, at))
        return;
    if (point->kind == MEMORY)
        emit_memory(ctx, point);
    else if (point->kind == PIDS)
        emit_pids(ctx, point);
    else
        emit_cpus(ctx, point);
}

/* ---- the scan ---- */

static int not_supported(struct err *err)
{
    return err->code = -ENOTSUP;
}

static int cgroup_probe(struct bench_ctx *ctx)
{
    struct groups groups;
    if (groups_open(&groups, ctx->err))
        return not_supported(ctx->err);
    groups_close(&groups);
    return 0;
}

/* The file must be on a disk: the kernel reclaims no pages of files in memory. */
static void make_file(struct scan *scan, const struct bench_ctx *ctx)
{
    const char *tmp = getenv("TMPDIR");
    struct err *why = &scan->no_data;
    struct place place;
    struct batches batches = {0};
    struct bench_ctx one = *ctx;
    one.err = why;
    one.threads = 1; /* a libgomp team would not survive the fork */
    one.least_team = NULL;
    one.cpu_samples = NULL;
    int rc = place_open_directory(&place, tmp && *tmp ? tmp : "/var/tmp", why);
    if (!rc && place.memory)
        rc = err_set(why, -ENOTSUP,
                     "%.100s is in memory (%s), of which nothing can be reclaimed: name a "
                     "directory on a disk in TMPDIR",
                     place.directory, place.file_system);
    if (!rc)
        rc = batches_open(&batches, ctx->params, &one);
    if (!rc)
        rc = batch_file_make(&scan->file, &place, &batches, ctx->workers, why);
    batches_close(&batches);
    if (rc)
        why->code = -ENOTSUP;
}

static int cgroup_setup(struct bench_ctx *ctx)
{
    struct scan *scan = ctx->state;
    bool any = false;
    scan->ncpus = ctx->machine->ncpus;
    if (groups_open(&scan->groups, ctx->err))
        return not_supported(ctx->err);
    for (unsigned kind = CPU_MAX; kind < KINDS; kind++) {
        if (groups_enable(&scan->groups, controllers[kind], &scan->absent[kind]))
            (void)not_supported(&scan->absent[kind]);
        any = any || !scan->absent[kind].code;
    }
    int rc = any ? groups_keep(&scan->groups, ctx->err)
                 : err_set(ctx->err, -ENOTSUP, "%.200s", scan->absent[CPU_MAX].msg);
    if (rc) /* now: a process that fails may be ended before its teardown */
        groups_close(&scan->groups);
    if (!rc && !scan->absent[MEMORY].code)
        make_file(scan, ctx);
    return rc;
}

static int cgroup_scan(struct bench_ctx *ctx)
{
    struct scan *scan = ctx->state;
    list_points(scan);
    scan->time_s = ctx->budget_s / (double)(scan->npoints + MEMORIES);
    return points_run(ctx, scan->npoints, measure_point, emit_point);
}

static void cgroup_teardown(struct bench_ctx *ctx)
{
    struct scan *scan = ctx->state;
    data_free(&scan->file.data);
    groups_close(&scan->groups);
}

const struct bench bench_cgroup = {
    .name = "cgroup",
    .summary = "preprocessing under the limits of a container: CPU time, CPUs, memory, threads",
    .opts = cgroup_opts,
    .params_size = sizeof(struct batch_params),
    .metrics = cgroup_metrics,
    .figures = cgroup_figures,
    .dims = cgroup_dims,
    .validate = batches_validate,
    .probe = cgroup_probe,
    .state_size = sizeof(struct scan),
    .setup = cgroup_setup,
    .scan = cgroup_scan,
    .teardown = cgroup_teardown,
};

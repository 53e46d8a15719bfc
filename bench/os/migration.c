/*
 * The cost for a running thread to be moved to another CPU: it moves itself there and back by
 * sched_setaffinity, and goes over a working set on each side.
 *
 * The call hands the thread to the CPU's stopper, which puts it into the queue of the other CPU and
 * wakes that up: the way of every migration of a running thread. Where the other CPU is `idle`, it
 * has to leave its idle state first; where it is `awake`, a thread of the policy SCHED_IDLE runs on
 * both and gives way at once.
 *
 * **Measures** `move_round_trip` us = time / trips there and back on CLOCK_MONOTONIC_RAW, the clock
 * of one CPU alone: the median of batches of 0.1 ms or more, the first quarter not timed.
 * `move_cost` us a move = move_round_trip / 2 without a working set - `move_call`, the same call
 * where the CPU that it runs on stays allowed. `move_cache_cost` us a move = (move_round_trip -
 * that without a working set) / 2 - `move_touch`, going over a set that was just gone over. Keys:
 * to
 * (`sibling`, `cache`, `node`, `remote`: which CPU beside the first one), cpus (`idle` or `awake`),
 * size (of the set, in bytes; a word in each line is raised).
 * **Source** The same working sets as in context_switch; Constantinou et al., Performance
 * implications of single thread migration on a chip multi-core, 2005, for what is lost with caches.
 * **Limits** The set comes back to a CPU that had it before: its lines are in the other's cache,
 * and older copies of them in its own. Distances are those that the system reports: a virtual
 * machine may hide siblings. Pages are base pages, and lie on the first CPU's node.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "bench/common/awake.h"
#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/cpu_pair.h"
#include "bench/os/repeat.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"

enum cpus { IDLE, AWAKE, CPUS };
enum { SIZES = WORKING_SETS, POINTS = NEARS * CPUS * SIZES };

static const uint64_t slice_least_ns = 1000000;

/* "all" is the first. */
static const char *const cpus_names[] = {"all", "idle", "awake", NULL};

struct migration_params {
    int to, cpus, size;
};

static const struct opt migration_opts[] = {
    OPT_CHOICE("to", migration_params, to, "all", near_names, "WHERE",
               "the other CPU, beside the first one"),
    OPT_CHOICE("cpus", migration_params, cpus, "all", cpus_names, "CPUS",
               "whether the other CPU has to leave an idle state"),
    OPT_CHOICE("size", migration_params, size, "all", working_set_names, "BYTES",
               "what the thread goes over between two moves"),
    {.name = NULL},
};

enum { BY_TO = 1, BY_CPUS, BY_SIZE };
static const struct bench_dim migration_dims[] = {
    [BY_TO] = {"to", .labels = near_names + 1,
               .said = LABELS("SMT sibling", "same cache", "same node", "another node")},
    [BY_CPUS] = {"cpus", .labels = cpus_names + 1, .said = LABELS("idle", "kept awake")},
    [BY_SIZE] = {"size", DIM_BYTES},
    {.name = NULL},
};

enum { ROUND_TRIP, MOVE_COST, CACHE_COST, CALL, TOUCH };
static const struct bench_metric migration_metrics[] = {
    [ROUND_TRIP] = {"move_round_trip", "us", "lower", .hidden = true, .gating = true},
    [MOVE_COST] = {"move_cost", "us", "lower"},
    [CACHE_COST] = {"move_cache_cost", "us", "lower"},
    [CALL] = {"move_call", "us", "lower", .hidden = true},
    [TOUCH] = {"move_touch", "us", "lower", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure migration_figures[] = {
    {.name = "migration",
     .kind = FIGURE_BARS,
     .metric = "move_cost",
     .title = "time to move a running thread to another CPU, without a working set",
     .how = "Half a round trip, less the system call",
     .x = {"moved to", BY_TO},
     .y = {"time of a move (us)"},
     .series = {BY_CPUS}},
    {.name = "migration_cache",
     .kind = FIGURE_LINES,
     .metric = "move_cache_cost",
     .title = "cache cost of a move, by the working set",
     .how = "Beyond the move itself and going over the set alone",
     .x = {"working set (bytes, log scale)", BY_SIZE, .log = true, .bytes = true},
     .y = {"time of a move (us)"},
     .series = {BY_TO, BY_CPUS}},
    {.name = NULL},
};

/* The two CPUs that a thread moves between. */
struct way {
    unsigned os_cpus[2];
    cpu_set_t *masks[2], *both;
    size_t mask_bytes;
};

struct migration {
    struct memory_block set;
    struct repeat repeat;
    unsigned npoints;
    struct point {
        enum near to;
        enum cpus cpus;
        unsigned size;
        struct err absent; /* code 0 = measured */
    } points[POINTS];
    double call_us, touch_us[SIZES];
    /* The current point. */
    struct way way;
    size_t words;
    double round_trip_us;
    uint64_t cpu_samples; /* of both sides, to the set */
    uint64_t moves, strays;
    int failed; /* -errno of a move */
};

static void list_points(struct migration *s, const struct migration_params *params)
{
    for (unsigned to = 0; to < NEARS; to++)
        for (unsigned cpus = 0; cpus < CPUS; cpus++)
            for (unsigned size = 0; size < SIZES; size++)
                if (points_asked(params->to, to) && points_asked(params->cpus, cpus) &&
                    points_asked(params->size, size))
                    s->points[s->npoints++] = (struct point){.to = to, .cpus = cpus, .size = size};
}

static int migration_setup(struct bench_ctx *ctx)
{
    struct migration *s = ctx->state;
    list_points(s, ctx->params);
    /* One more for what is done without a move. */
    s->repeat.slice_ns = points_share_ns(ctx, s->npoints + 1, slice_least_ns);
    return memory_open(ctx, &s->set, WORKING_SET_MOST, MEMORY_4K);
}

/* ---- the way ---- */

static int way_open(struct way *way, unsigned from, unsigned to, struct err *err)
{
    unsigned most = (from > to ? from : to) + 1;
    *way = (struct way){.os_cpus = {from, to}, .mask_bytes = CPU_ALLOC_SIZE(most)};
    cpu_set_t **const masks[] = {&way->masks[0], &way->masks[1], &way->both};
    for (unsigned i = 0; i < 3; i++) {
        *masks[i] = CPU_ALLOC(most);
        if (!*masks[i])
            return err_set(err, -ENOMEM, "cannot allocate a set of CPUs");
        CPU_ZERO_S(way->mask_bytes, *masks[i]);
    }
    for (unsigned side = 0; side < 2; side++) {
        CPU_SET_S(way->os_cpus[side], way->mask_bytes, way->masks[side]);
        CPU_SET_S(way->os_cpus[side], way->mask_bytes, way->both);
    }
    return 0;
}

static void way_close(struct way *way)
{
    CPU_FREE(way->masks[0]);
    CPU_FREE(way->masks[1]);
    CPU_FREE(way->both);
    *way = (struct way){.masks = {NULL}};
}

static bool set_mask(struct migration *s, const cpu_set_t *mask)
{
    if (sched_setaffinity(0, s->way.mask_bytes, mask))
        s->failed = -errno;
    return !s->failed;
}

/* There and back. */
static uint64_t move_batch(void *arg, uint64_t n)
{
    struct migration *s = arg;
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < 2 * n; i++) {
        unsigned side = 1 - i % 2;
        if (!set_mask(s, s->way.masks[side]))
            return 0;
        s->strays += (unsigned)sched_getcpu() != s->way.os_cpus[side];
        working_set_go_over(s->set.base, s->words);
    }
    s->moves += 2 * n;
    s->cpu_samples += 2 * n;
    return clock_now_ns() - start_ns;
}

/* The same calls, but for where it runs: the other CPU is allowed, and no longer. */
static uint64_t call_batch(void *arg, uint64_t n)
{
    struct migration *s = arg;
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        if (!set_mask(s, i % 2 ? s->way.masks[0] : s->way.both))
            return 0;
    return clock_now_ns() - start_ns;
}

static uint64_t touch_batch(void *arg, uint64_t n)
{
    struct migration *s = arg;
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        working_set_go_over(s->set.base, s->words);
    return clock_now_ns() - start_ns;
}

/* ---- points ---- */

static void move(void *arg)
{
    struct migration *s = arg;
    memset(s->set.base, 0, s->words * sizeof(uint64_t));
    s->round_trip_us = repeat_time(&s->repeat, move_batch, s);
}

static int keep_both_awake(struct awake keepers[2], const struct way *way, struct err *err)
{
    int rc = awake_start(&keepers[0], way->os_cpus[0], err);
    return rc ? rc : awake_start(&keepers[1], way->os_cpus[1], err);
}

static int move_about(struct bench_ctx *ctx, struct point *point)
{
    struct migration *s = ctx->state;
    struct awake keepers[2] = {{0}};
    struct team mover = {0};
    int rc = point->cpus == AWAKE ? keep_both_awake(keepers, &s->way, &point->absent) : 0;
    if (!rc)
        rc = team_start(&mover, ctx, s->way.os_cpus, 1);
    if (!rc)
        team_call(&mover, 0, move, s);
    team_stop(&mover);
    awake_end(&keepers[0]);
    awake_end(&keepers[1]);
    return point->absent.code ? 0 : rc;
}

static struct dims place_of(const struct point *point)
{
    return DIMS({BY_TO, point->to}, {BY_CPUS, point->cpus});
}

static struct dims sized(const struct point *point, unsigned size)
{
    return dims_with(place_of(point), BY_SIZE, (double)working_set_sizes[size]);
}

/* Who is refused a CPU, or is not moved, has no value. */
static int judge_moves(struct bench_ctx *ctx, struct point *point)
{
    struct migration *s = ctx->state;
    if (s->failed)
        (void)err_sys(&point->absent, s->failed, "cannot move a thread between CPU %u and %u",
                      s->way.os_cpus[0], s->way.os_cpus[1]);
    else if (2 * s->strays >= s->moves)
        (void)err_set(&point->absent, -ENOTSUP, "the system takes the call and moves nothing");
    if (point->absent.code) {
        point->absent.code = -ENOTSUP;
        return 0;
    }
    bench_emit(ctx, ROUND_TRIP, s->round_trip_us, sized(point, point->size));
    return s->strays || !working_set_holds(s->set.base, s->words, s->cpu_samples)
               ? err_set(ctx->err, -EBADMSG,
                         "a thread was not where it had moved, or went over its working set more "
                         "or less often than it moved")
               : 0;
}

static int measure_point(struct bench_ctx *ctx, size_t which)
{
    struct migration *s = ctx->state;
    struct point *point = &s->points[which];
    const struct bench_cpu *cpus = ctx->machine->cpus;
    unsigned to = 0;
    if (near_find(ctx->machine, point->to, &to, &point->absent))
        return 0; /* the reason is the point's row */
    int rc = way_open(&s->way, cpus[0].os_cpu, cpus[to].os_cpu, ctx->err);
    s->words = working_set_sizes[point->size] / sizeof(uint64_t);
    s->cpu_samples = s->moves = s->strays = 0;
    s->failed = 0;
    if (!rc)
        rc = move_about(ctx, point);
    if (!rc && !point->absent.code)
        rc = judge_moves(ctx, point);
    way_close(&s->way);
    return rc;
}

static void stay(void *arg)
{
    struct migration *s = arg;
    s->call_us = repeat_time(&s->repeat, call_batch, s);
    (void)set_mask(s, s->way.masks[0]);
    for (unsigned size = 1; size < SIZES; size++) {
        s->words = working_set_sizes[size] / sizeof(uint64_t);
        memset(s->set.base, 0, working_set_sizes[size]);
        s->touch_us[size] = repeat_time(&s->repeat, touch_batch, s);
    }
}

/* Measures the parts without a move, on the first CPU. */
static int measure_alone(struct bench_ctx *ctx)
{
    struct migration *s = ctx->state;
    const struct bench_machine *machine = ctx->machine;
    struct team team = {0};
    uint64_t slice_ns = s->repeat.slice_ns;
    int rc = way_open(&s->way, machine->cpus[0].os_cpu, machine->cpus[machine->ncpus - 1].os_cpu,
                      ctx->err);
    if (!rc)
        rc = team_start(&team, ctx, s->way.os_cpus, 1);
    s->repeat.slice_ns = slice_ns / SIZES; /* the call and the sets */
    if (!rc)
        team_call(&team, 0, stay, s);
    s->repeat.slice_ns = slice_ns;
    team_stop(&team);
    way_close(&s->way);
    return rc;
}

/* ---- rows ---- */

/* A way that there is not is said once; else what its round trip and others tell. */
static void conclude(struct bench_ctx *ctx, size_t which)
{
    const struct migration *s = ctx->state;
    const struct point *point = &s->points[which];
    const struct dims at = place_of(point);
    double half_us = points_value(ctx, ROUND_TRIP, sized(point, point->size)) / 2;
    double bare_us = points_value(ctx, ROUND_TRIP, sized(point, 0)) / 2;
    if (!point->absent.code && !point->size)
        bench_emit(ctx, MOVE_COST, half_us - s->call_us, at);
    else if (!point->absent.code)
        bench_emit(ctx, CACHE_COST, half_us - bare_us - s->touch_us[point->size],
                   sized(point, point->size));
    else if (!which || strcmp(s->points[which - 1].absent.msg, point->absent.msg) != 0)
        (void)bench_emit_absent(ctx, MOVE_COST, &point->absent, at);
}

static void emit_alone(struct bench_ctx *ctx)
{
    const struct migration *s = ctx->state;
    bench_emit(ctx, CALL, s->call_us, NO_DIMS);
    for (unsigned size = 1; size < SIZES; size++)
        bench_emit(ctx, TOUCH, s->touch_us[size], DIMS({BY_SIZE, (double)working_set_sizes[size]}));
}

static int migration_scan(struct bench_ctx *ctx)
{
    const struct migration *s = ctx->state;
    int rc = measure_alone(ctx);
    if (!rc)
        rc = points_run(ctx, s->npoints, measure_point, conclude);
    if (!rc)
        emit_alone(ctx);
    return rc;
}

const struct bench bench_migration = {
    .name = "migration",
    .summary = "moving a running thread to another CPU, by distance: the move and the caches",
    .opts = migration_opts,
    .params_size = sizeof(struct migration_params),
    .metrics = migration_metrics,
    .figures = migration_figures,
    .dims = migration_dims,
    .state_size = sizeof(struct migration),
    .setup = migration_setup,
    .scan = migration_scan,
};

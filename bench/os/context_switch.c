/*
 * What it takes to hand the CPU to somebody else: two threads or two processes pass a ball to and
 * fro, by a pipe, a futex or sched_yield, on one CPU or on two, and go over a working set each time
 * that they have it.
 *
 * **Measures** `round_trip` us = time / trips there and back on CLOCK_MONOTONIC_RAW, two switches a
 * trip: the median of batches of 0.1 ms or more, the first quarter not timed. `direct_cost` us a
 * switch = round_trip / 2 without a working set - `calls`, what the system calls of one player take
 * when nobody has to be switched to. `cache_cost` us a switch = (round_trip - that without a
 * working set) / 2 - `touch`, the time that a player alone takes to go over a set that it has just
 * gone over. Keys: how, between, cpus (`one` for both, or `two`), size (of each player's set, in
 * bytes; a word in each line is raised). `yields`: calls of sched_yield a switch; more than 1 where
 * the scheduler let the caller go on.
 * **Source** `perf bench sched pipe` (its usecs/op is round_trip of pipe; -T: threads) and lat_ctx
 * of lmbench (McVoy and Staelin 1996), which takes the calls off, too, but leaves the cache in.
 * **Limits** On two CPUs nothing is switched but to idle and back: that is a wake-up from afar,
 * idle states included. Threads share their page tables, processes do not: the rest of the
 * difference is the TLB's. sched_yield across CPUs hands over nothing and is left out. Pages are
 * base pages.
 */
#include <errno.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/duel.h"
#include "bench/os/game.h"
#include "bench/os/working_set.h"
#include "bench/registry.h"

static const uint64_t slice_least_ns = 1000000;

enum between { THREADS, PROCESSES, BETWEENS };
enum cpus { ONE, TWO, CPUS };
enum { SIZES = WORKING_SETS, POINTS = GAME_HOWS * BETWEENS * CPUS * SIZES };

/* "all" is the first of each. */
static const char *const how_names[] = {"all", "pipe", "futex", "yield", NULL};
static const char *const between_names[] = {"all", "threads", "processes", NULL};
static const char *const cpus_names[] = {"all", "one", "two", NULL};

struct switch_params {
    int how, between, cpus, size;
};

static const struct opt switch_opts[] = {
    OPT_CHOICE("how", switch_params, how, "all", how_names, "HOW", "what hands the ball over"),
    OPT_CHOICE("between", switch_params, between, "all", between_names, "WHOM", "who plays"),
    OPT_CHOICE("cpus", switch_params, cpus, "all", cpus_names, "CPUS",
               "both players on one CPU, or on one each"),
    OPT_CHOICE("size", switch_params, size, "all", working_set_names, "BYTES",
               "what each player goes over between two switches"),
    {.name = NULL},
};

enum { BY_HOW = 1, BY_BETWEEN, BY_CPUS, BY_SIZE };
static const struct bench_dim switch_dims[] = {
    [BY_HOW] = {"how", .labels = how_names + 1},
    [BY_BETWEEN] = {"between", .labels = between_names + 1},
    [BY_CPUS] = {"cpus", .labels = cpus_names + 1, .said = LABELS("one CPU", "two CPUs")},
    [BY_SIZE] = {"size", DIM_BYTES},
    {.name = NULL},
};

enum { ROUND_TRIP, DIRECT_COST, CACHE_COST, YIELDS, CALLS, TOUCH };
static const struct bench_metric switch_metrics[] = {
    [ROUND_TRIP] = {"round_trip", "us", "lower", .quiet = true, .gates = true},
    [DIRECT_COST] = {"direct_cost", "us", "lower"},
    [CACHE_COST] = {"cache_cost", "us", "lower"},
    [YIELDS] = {"yields", "1", "none", .quiet = true},
    [CALLS] = {"calls", "us", "lower", .quiet = true},
    [TOUCH] = {"touch", "us", "lower", .quiet = true},
    {.name = NULL},
};

static const struct bench_figure switch_figures[] = {
    {.name = "context_switch",
     .kind = FIGURE_BARS,
     .metric = "direct_cost",
     .title = "a switch to another thread or process, without a working set",
     .how = "half a round trip, less its system calls",
     .x = {"handed over by", BY_HOW},
     .y = {"time of a switch (us)"},
     .series = {BY_BETWEEN, BY_CPUS}},
    {.name = "context_switch_cache",
     .kind = FIGURE_LINES,
     .metric = "cache_cost",
     .only = &DIMS({BY_HOW, GAME_PIPE}),
     .title = "what a switch by a pipe costs in caches, over the working set",
     .how = "Beyond the switch itself and going over the set alone",
     .x = {"working set of each player (bytes, log scale)", BY_SIZE, .log = true, .bytes = true},
     .y = {"time of a switch (us)"},
     .series = {BY_BETWEEN, BY_CPUS}},
    {.name = NULL},
};

struct point {
    double round_trip_us, yields;
    struct err absent; /* code 0 = measured */
};

struct switching {
    struct team team; /* one thread, on the first CPU: what players do alone */
    struct game *game;
    struct memory_block sets;
    unsigned os_cpus[2];
    unsigned npoints;
    unsigned place[POINTS]; /* of the points that are asked for */
    struct point points[POINTS];
    double calls_us[GAME_HOWS], touch_us[SIZES];
    bool wrong;
};

/* A point's number is made of these. */
struct setting {
    enum game_how how;
    enum between between;
    enum cpus cpus;
    unsigned size;
};

static struct setting setting_of(unsigned place)
{
    return (struct setting){.how = (enum game_how)(place / SIZES / CPUS / BETWEENS),
                            .between = (enum between)(place / SIZES / CPUS % BETWEENS),
                            .cpus = (enum cpus)(place / SIZES % CPUS),
                            .size = place % SIZES};
}

static bool asked(const struct switch_params *params, struct setting at)
{
    return (!params->how || params->how == (int)at.how + 1) &&
           (!params->between || params->between == (int)at.between + 1) &&
           (!params->cpus || params->cpus == (int)at.cpus + 1) &&
           (!params->size || params->size == (int)at.size + 1) &&
           !(at.how == GAME_YIELD && at.cpus == TWO);
}

/* The first CPU, and the nearest on another core, or the next. */
static void choose_cpus(struct switching *s, const struct bench_machine *machine)
{
    unsigned other = machine->ncpus > 1;
    for (unsigned i = machine->ncpus - 1; i > 0; i--)
        if (machine->cpus[i].core != machine->cpus[0].core)
            other = i;
    s->os_cpus[0] = machine->cpus[0].os_cpu;
    s->os_cpus[1] = machine->cpus[other].os_cpu;
}

static int switch_validate(const void *params, struct err *err)
{
    const struct switch_params *asks = params;
    if (asks->how == GAME_YIELD + 1 && asks->cpus == TWO + 1)
        return err_set(err, -EINVAL, "how=yield hands nothing over between two CPUs: cpus=one");
    return 0;
}

static int open_game(struct switching *s, struct err *err)
{
    uint64_t *first = s->sets.base;
    uint64_t *const sets[2] = {first, first + WORKING_SET_MOST / sizeof(*first)};
    return game_open(&s->game, sets, err);
}

static int switch_setup(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    choose_cpus(s, ctx->machine);
    for (unsigned place = 0; place < POINTS; place++)
        if (asked(ctx->params, setting_of(place)))
            s->place[s->npoints++] = place;
    int rc = memory_map(&s->sets, (size_t)2 * WORKING_SET_MOST, MEMORY_4K, ctx->err);
    if (!rc)
        rc = open_game(s, ctx->err);
    return rc ? rc : team_start(&s->team, s->os_cpus, 1, ctx->visits, ctx->err);
}

static void switch_teardown(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    team_stop(&s->team);
    game_close(s->game);
    memory_unmap(&s->sets);
}

static uint64_t slice_ns(const struct bench_ctx *ctx)
{
    const struct switching *s = ctx->state;
    /* One more for what players do alone. */
    double ns = ctx->budget_s * 1e9 / (s->npoints + 1);
    return ns > (double)slice_least_ns ? (uint64_t)ns : slice_least_ns;
}

static int measure_point(struct bench_ctx *ctx, size_t at)
{
    struct switching *s = ctx->state;
    struct setting setting = setting_of(s->place[at]);
    struct point *point = &s->points[s->place[at]];
    struct game *game = s->game;
    if (setting.cpus == TWO && s->os_cpus[0] == s->os_cpus[1]) {
        (void)err_set(&point->absent, -ENOTSUP, "there is only one CPU to use");
        return 0;
    }
    game_begin(game, setting.how, working_set_sizes[setting.size] / sizeof(uint64_t),
               slice_ns(ctx));
    const struct duel duel = {.processes = setting.between == PROCESSES,
                              .os_cpus = {s->os_cpus[0], s->os_cpus[setting.cpus == TWO]},
                              .play = game_play,
                              .arg = game,
                              .visits = ctx->visits};
    int rc = duel_run(&duel, &point->absent);
    for (unsigned who = 0; who < 2 && !rc; who++)
        if (game->failed[who])
            rc = err_sys(ctx->err, game->failed[who], "the ball was lost");
    if (point->absent.code || rc)
        return rc == -ENOTSUP ? 0 : rc;
    s->wrong |= game->wrong[0] || game->wrong[1];
    point->round_trip_us = game->round_trip_us;
    point->yields = (double)game->yields / (double)game->repeat.items;
    return 0;
}

static void time_all_alone(void *arg, unsigned rank, unsigned n)
{
    struct switching *s = arg;
    struct game *game = s->game;
    (void)rank;
    (void)n;
    for (unsigned how = 0; how < GAME_HOWS; how++)
        s->calls_us[how] = game_time_calls(game, (enum game_how)how);
    for (unsigned size = 1; size < SIZES; size++)
        s->touch_us[size] = game_time_set(game, working_set_sizes[size] / sizeof(uint64_t));
}

/* Of the same players without a working set; NULL where it was not measured. */
static const struct point *bare_point(const struct switching *s, unsigned place)
{
    const struct point *bare = &s->points[place - place % SIZES];
    return bare->round_trip_us > 0 ? bare : NULL;
}

/* The part of the costs of a switch that is this point's. */
static void emit_cost(struct bench_ctx *ctx, unsigned place, struct dims at)
{
    const struct switching *s = ctx->state;
    const struct point *point = &s->points[place], *bare = bare_point(s, place);
    const struct setting of = setting_of(place);
    double half_us = point->round_trip_us / 2;
    if (of.size == 0)
        bench_emit(ctx, DIRECT_COST, half_us - s->calls_us[of.how], at);
    else if (bare)
        bench_emit(ctx, CACHE_COST, half_us - bare->round_trip_us / 2 - s->touch_us[of.size],
                   dims_with(at, BY_SIZE, (double)working_set_sizes[of.size]));
}

static void emit_point(struct bench_ctx *ctx, size_t which)
{
    const struct switching *s = ctx->state;
    unsigned place = s->place[which];
    const struct point *point = &s->points[place];
    const struct setting of = setting_of(place);
    const struct dims at = DIMS({BY_HOW, of.how}, {BY_BETWEEN, of.between}, {BY_CPUS, of.cpus});
    const struct dims sized = dims_with(at, BY_SIZE, (double)working_set_sizes[of.size]);
    if (bench_emit_absent(ctx, ROUND_TRIP, &point->absent, sized))
        return;
    bench_emit(ctx, ROUND_TRIP, point->round_trip_us, sized);
    if (of.how == GAME_YIELD)
        bench_emit(ctx, YIELDS, point->yields, sized);
    emit_cost(ctx, place, at);
}

static void emit_alone(struct bench_ctx *ctx)
{
    const struct switching *s = ctx->state;
    for (unsigned how = 0; how < GAME_HOWS; how++)
        bench_emit(ctx, CALLS, s->calls_us[how], DIMS({BY_HOW, how}));
    for (unsigned size = 1; size < SIZES; size++)
        bench_emit(ctx, TOUCH, s->touch_us[size], DIMS({BY_SIZE, (double)working_set_sizes[size]}));
}

static int switch_scan(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    s->game->repeat.slice_ns = slice_ns(ctx) / (GAME_HOWS + SIZES - 1);
    (void)team_run(&s->team, NULL, 1, time_all_alone, s);
    int rc = points_run(ctx, s->npoints, measure_point, emit_point);
    if (!rc)
        emit_alone(ctx);
    return rc;
}

static int switch_check(struct bench_ctx *ctx)
{
    const struct switching *s = ctx->state;
    return s->wrong ? err_set(ctx->err, -EBADMSG,
                              "a player went over its working set more or less often than it had "
                              "the ball")
                    : 0;
}

const struct bench bench_context_switch = {
    .name = "context_switch",
    .summary = "a switch between threads or processes: the call, the switch and the caches",
    .opts = switch_opts,
    .params_size = sizeof(struct switch_params),
    .metrics = switch_metrics,
    .figures = switch_figures,
    .dims = switch_dims,
    .validate = switch_validate,
    .state_size = sizeof(struct switching),
    .setup = switch_setup,
    .scan = switch_scan,
    .check = switch_check,
    .teardown = switch_teardown,
};

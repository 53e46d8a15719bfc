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
#include <linux/futex.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/os/duel.h"
#include "bench/registry.h"
#include "harness/base/stats.h"
#include "harness/sys/clock.h"
#include "harness/sys/futex.h"

enum { LINE_WORDS = 8, WARM_SHARE = 4, BATCHES = 1024, SET_MOST = 4 << 20 };

static const uint64_t batch_least_ns = 100000;
static const uint64_t slice_least_ns = 1000000;

enum how { PIPE, FUTEX, YIELD, HOWS };
enum between { THREADS, PROCESSES, BETWEENS };
enum cpus { ONE, TWO, CPUS };
enum { SIZES = 4, POINTS = HOWS * BETWEENS * CPUS * SIZES };

static const size_t sizes[SIZES] = {0, 16 << 10, 256 << 10, SET_MOST};

/* "all" is the first of each. */
static const char *const how_names[] = {"all", "pipe", "futex", "yield", NULL};
static const char *const between_names[] = {"all", "threads", "processes", NULL};
static const char *const cpus_names[] = {"all", "one", "two", NULL};
static const char *const size_names[] = {"all", "0", "16K", "256K", "4M", NULL};

struct switch_params {
    int how, between, cpus, size;
};

static const struct opt switch_opts[] = {
    OPT_CHOICE("how", switch_params, how, "all", how_names, "HOW", "what hands the ball over"),
    OPT_CHOICE("between", switch_params, between, "all", between_names, "WHOM", "who plays"),
    OPT_CHOICE("cpus", switch_params, cpus, "all", cpus_names, "CPUS",
               "both players on one CPU, or on one each"),
    OPT_CHOICE("size", switch_params, size, "all", size_names, "BYTES",
               "what each player goes over between two switches"),
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
     .x = {"handed over by", "how"},
     .y = {"time of a switch (us)"},
     .series = {"between", "cpus"}},
    {.name = "context_switch_cache",
     .kind = FIGURE_LINES,
     .metric = "cache_cost",
     .only = "how=pipe",
     .title = "what a switch by a pipe costs in caches, over the working set",
     .how = "Beyond the switch itself and going over the set alone",
     .x = {"working set of each player (bytes, log scale)", "size", .log = true, .bytes = true},
     .y = {"time of a switch (us)"},
     .series = {"between", "cpus"}},
    {.name = NULL},
};

static const struct bench_saying switch_sayings[] = {
    {"cpus", "one", "one CPU"},
    {"cpus", "two", "two CPUs"},
    {.part = NULL},
};

/* What both players see, also as processes. */
struct game {
    _Alignas(128) _Atomic uint32_t ball; /* whose turn it is */
    _Alignas(128) bool over;             /* written by who serves before the last pass */
    int pipes[2][2];                     /* [who writes] */
    enum how how;
    size_t words;      /* of a working set */
    uint64_t *sets[2]; /* private to a process */
    uint64_t slice_ns; /* to play in */
    void (*alone)(struct game *game);
    uint64_t trips, passes; /* timed; of one player, the warm ones included */
    uint64_t yields;        /* of who serves, in the timed ones */
    unsigned nbatches;
    double batch_us[BATCHES]; /* an item */
    int failed[2];            /* -errno of a call */
    bool wrong[2];            /* a set that was not gone over as often as the ball was had */
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
    double calls_us[HOWS], touch_us[SIZES];
    bool wrong;
};

/* A point's number is made of these. */
struct setting {
    enum how how;
    enum between between;
    enum cpus cpus;
    unsigned size;
};

static struct setting setting_of(unsigned place)
{
    return (struct setting){.how = (enum how)(place / SIZES / CPUS / BETWEENS),
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
           !(at.how == YIELD && at.cpus == TWO);
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
    if (asks->how == YIELD + 1 && asks->cpus == TWO + 1)
        return err_set(err, -EINVAL, "how=yield hands nothing over between two CPUs: cpus=one");
    return 0;
}

static int make_game(struct switching *s, struct err *err)
{
    struct game *game =
        mmap(NULL, sizeof(*game), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (game == MAP_FAILED)
        return err_set(err, -ENOMEM, "cannot map what two players share");
    s->game = game;
    for (unsigned who = 0; who < 2; who++) {
        game->pipes[who][0] = game->pipes[who][1] = -1;
        game->sets[who] = (uint64_t *)s->sets.base + who * (SET_MOST / sizeof(uint64_t));
    }
    for (unsigned who = 0; who < 2; who++)
        if (pipe(game->pipes[who]))
            return err_sys(err, -errno, "cannot make a pipe");
    return 0;
}

static int switch_setup(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state = calloc(1, sizeof(*s));
    if (!s)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the state of the scan");
    choose_cpus(s, ctx->machine);
    for (unsigned place = 0; place < POINTS; place++)
        if (asked(ctx->params, setting_of(place)))
            s->place[s->npoints++] = place;
    int rc = memory_map(&s->sets, (size_t)2 * SET_MOST, MEMORY_4K, ctx->err);
    if (!rc)
        rc = make_game(s, ctx->err);
    return rc ? rc : team_start(&s->team, s->os_cpus, 1, ctx->visits, ctx->err);
}

static void switch_teardown(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    ctx->state = NULL;
    if (!s)
        return;
    team_stop(&s->team);
    for (unsigned end = 0; s->game && end < 4; end++)
        if (s->game->pipes[end / 2][end % 2] >= 0)
            (void)close(s->game->pipes[end / 2][end % 2]);
    if (s->game)
        (void)munmap(s->game, sizeof(*s->game));
    memory_unmap(&s->sets);
    free(s);
}

/* A player's time with the ball. */
static void go_over(uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i += LINE_WORDS)
        ((volatile uint64_t *)set)[i]++;
}

static int write_word(int fd)
{
    int word = 0;
    ssize_t wrote;
    do
        wrote = write(fd, &word, sizeof(word));
    while (wrote < 0 && errno == EINTR);
    return wrote == sizeof(word) ? 0 : -errno;
}

static int read_word(int fd)
{
    int word;
    ssize_t got;
    do
        got = read(fd, &word, sizeof(word));
    while (got < 0 && errno == EINTR);
    return got == sizeof(word) ? 0 : -EPIPE;
}

static int pass_ball(struct game *game, unsigned who)
{
    if (game->how == PIPE)
        return write_word(game->pipes[who][1]);
    if (game->how == FUTEX)
        futex_set(&game->ball, 1 - who);
    else
        atomic_store_explicit(&game->ball, 1 - who, memory_order_release);
    return 0;
}

static int await_ball(struct game *game, unsigned who)
{
    if (game->how == PIPE)
        return read_word(game->pipes[1 - who][0]);
    if (game->how == FUTEX) {
        futex_wait_while(&game->ball, 1 - who);
        return 0;
    }
    uint64_t yields = 0;
    for (; atomic_load_explicit(&game->ball, memory_order_acquire) != who; yields++)
        (void)sched_yield();
    if (who == 0)
        game->yields += yields;
    return 0;
}

/* `n` trips there and back; the time that they took, 0 after a failure. */
static uint64_t serve_batch(struct game *game, uint64_t n)
{
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++) {
        go_over(game->sets[0], game->words);
        int rc = pass_ball(game, 0);
        if (!rc)
            rc = await_ball(game, 0);
        if (rc) {
            game->failed[0] = rc;
            return 0;
        }
    }
    game->passes += n;
    return clock_now_ns() - start_ns;
}

/* What one player does alone: nobody has to be there. */
static uint64_t repeat_batch(struct game *game, uint64_t n)
{
    uint64_t start_ns = clock_now_ns();
    for (uint64_t i = 0; i < n; i++)
        game->alone(game);
    return clock_now_ns() - start_ns;
}

/*
 * Batches for slice_ns, each so long that the clock is nothing of it; those of the first part only
 * find how many make one. us an item, the median: who is not of the game and takes the CPU for
 * milliseconds is in few of them. 0 after a failure.
 */
static void time_batches(struct game *game, uint64_t (*batch)(struct game *game, uint64_t n))
{
    uint64_t least_ns = game->slice_ns / BATCHES, spent_ns = 0, n = 1, took_ns = 1;
    least_ns = least_ns < batch_least_ns ? batch_least_ns : least_ns;
    game->nbatches = 0;
    while (spent_ns < game->slice_ns / WARM_SHARE && took_ns) {
        took_ns = batch(game, n);
        spent_ns += took_ns;
        n *= took_ns < least_ns ? 2 : 1;
    }
    game->yields = game->trips = 0;
    while (took_ns && game->nbatches < BATCHES && (spent_ns < game->slice_ns || !game->nbatches)) {
        took_ns = batch(game, n);
        spent_ns += took_ns;
        game->trips += n;
        game->batch_us[game->nbatches++] = (double)took_ns / 1e3 / (double)n;
    }
}

static void serve(struct game *game)
{
    time_batches(game, serve_batch);
    game->over = true;
    (void)pass_ball(game, 0);
}

static void return_serves(struct game *game)
{
    while (!(game->failed[1] = await_ball(game, 1)) && !game->over) {
        go_over(game->sets[1], game->words);
        if ((game->failed[1] = pass_ball(game, 1)))
            return;
    }
}

static void play(void *arg, unsigned who)
{
    struct game *game = arg;
    uint64_t *set = game->sets[who];
    memset(set, 0, game->words * sizeof(*set));
    if (who == 0)
        serve(game);
    else
        return_serves(game);
    for (size_t i = 0; i < game->words; i += LINE_WORDS)
        game->wrong[who] |= set[i] != game->passes;
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
    atomic_store(&game->ball, 0);
    game->over = false;
    game->how = setting.how;
    game->words = sizes[setting.size] / sizeof(uint64_t);
    game->slice_ns = slice_ns(ctx);
    game->passes = 0;
    game->failed[0] = game->failed[1] = 0;
    game->wrong[0] = game->wrong[1] = false;
    const struct duel duel = {.processes = setting.between == PROCESSES,
                              .os_cpus = {s->os_cpus[0], s->os_cpus[setting.cpus == TWO]},
                              .play = play,
                              .arg = game,
                              .visits = ctx->visits};
    int rc = duel_run(&duel, &point->absent);
    for (unsigned who = 0; who < 2 && !rc; who++)
        if (game->failed[who])
            rc = err_sys(ctx->err, game->failed[who], "the ball was lost");
    if (point->absent.code || rc)
        return rc == -ENOTSUP ? 0 : rc;
    s->wrong |= game->wrong[0] || game->wrong[1];
    point->round_trip_us = stats_sort_median(game->batch_us, game->nbatches);
    point->yields = (double)game->yields / (double)game->trips;
    return 0;
}

/* What one player calls for a pass and for the next ball, with nobody there. */
static void call_alone(struct game *game, enum how how)
{
    if (how == PIPE) {
        (void)write_word(game->pipes[0][1]);
        (void)read_word(game->pipes[0][0]);
    } else if (how == FUTEX) {
        futex_set(&game->ball, 1);
        (void)syscall(SYS_futex, &game->ball, FUTEX_WAIT, 0, NULL, NULL, 0); /* not 0: at once */
    } else {
        (void)sched_yield();
    }
}

static void call_once(struct game *game)
{
    call_alone(game, game->how);
}

static void touch_once(struct game *game)
{
    go_over(game->sets[0], game->words);
}

static double time_alone(struct game *game, void (*alone)(struct game *game))
{
    game->alone = alone;
    time_batches(game, repeat_batch);
    return stats_sort_median(game->batch_us, game->nbatches);
}

static void time_all_alone(void *arg, unsigned rank, unsigned n)
{
    struct switching *s = arg;
    struct game *game = s->game;
    (void)rank;
    (void)n;
    memset(game->sets[0], 0, SET_MOST);
    for (unsigned how = 0; how < HOWS; how++) {
        game->how = (enum how)how;
        s->calls_us[how] = time_alone(game, call_once);
    }
    for (unsigned size = 1; size < SIZES; size++) {
        game->words = sizes[size] / sizeof(uint64_t);
        s->touch_us[size] = time_alone(game, touch_once);
    }
}

/* Of the same players without a working set; NULL where it was not measured. */
static const struct point *bare_point(const struct switching *s, unsigned place)
{
    const struct point *bare = &s->points[place - place % SIZES];
    return bare->round_trip_us > 0 ? bare : NULL;
}

/* The part of the costs of a switch that is this point's. */
static int emit_cost(struct bench_ctx *ctx, unsigned place, const char *key)
{
    const struct switching *s = ctx->state;
    const struct point *point = &s->points[place], *bare = bare_point(s, place);
    struct setting at = setting_of(place);
    double half_us = point->round_trip_us / 2;
    if (at.size == 0)
        return bench_emit(ctx, DIRECT_COST, half_us - s->calls_us[at.how], "%s", key);
    if (!bare)
        return 0;
    return bench_emit(ctx, CACHE_COST, half_us - bare->round_trip_us / 2 - s->touch_us[at.size],
                      "%s;size=%zu", key, sizes[at.size]);
}

static int emit_point(struct bench_ctx *ctx, size_t which)
{
    const struct switching *s = ctx->state;
    unsigned place = s->place[which];
    const struct point *point = &s->points[place];
    struct setting at = setting_of(place);
    char key[VALUE_KEY_MAX];
    (void)snprintf(key, sizeof(key), "how=%s;between=%s;cpus=%s", how_names[at.how + 1],
                   between_names[at.between + 1], cpus_names[at.cpus + 1]);
    if (point->absent.code)
        return bench_emit_absent(ctx, ROUND_TRIP, &point->absent, "%s;size=%zu", key,
                                 sizes[at.size]);
    int rc = bench_emit(ctx, ROUND_TRIP, point->round_trip_us, "%s;size=%zu", key, sizes[at.size]);
    if (!rc && at.how == YIELD)
        rc = bench_emit(ctx, YIELDS, point->yields, "%s;size=%zu", key, sizes[at.size]);
    return rc ? rc : emit_cost(ctx, place, key);
}

static int emit_alone(struct bench_ctx *ctx)
{
    const struct switching *s = ctx->state;
    int rc = 0;
    for (unsigned how = 0; how < HOWS && !rc; how++)
        rc = bench_emit(ctx, CALLS, s->calls_us[how], "how=%s", how_names[how + 1]);
    for (unsigned size = 1; size < SIZES && !rc; size++)
        rc = bench_emit(ctx, TOUCH, s->touch_us[size], "size=%zu", sizes[size]);
    return rc;
}

static int switch_scan(struct bench_ctx *ctx)
{
    struct switching *s = ctx->state;
    s->game->slice_ns = slice_ns(ctx) / (HOWS + SIZES - 1);
    (void)team_run(&s->team, NULL, 1, time_all_alone, s);
    int rc = points_run(ctx, s->npoints, measure_point, emit_point);
    return rc ? rc : emit_alone(ctx);
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
    .sayings = switch_sayings,
    .validate = switch_validate,
    .setup = switch_setup,
    .scan = switch_scan,
    .check = switch_check,
    .teardown = switch_teardown,
};

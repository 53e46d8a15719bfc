/*
 * How much aggressors take from a victim's caches, by their kind, number and distance.
 *
 * The victim (bench/cpu/victim.h) runs on the first CPU, aggressors (bench/cpu/aggressor.h) on
 * others. A cell (bench/cpu/thrash_cells.h) is one kind of aggressor, its place, and how many.
 * Slices with and without aggressors (bench/cpu/fight.h) alternate, in random order within a pair;
 * in those without, the aggressors stay awake but idle (walk_rest), so that neither clocks, nor
 * idle states, nor who else gets their CPUs differ between the two: what is left is the memory
 * system, and on one core the execution units.
 *
 * Victim l3 is the largest set that alone still runs at the speed of caches
 * (bench/cpu/effective_cache_size.h), up to half of the L3 that is reported, or less where its laps
 * would take too much of the budget. A round draws the cells' order and begins those that it has
 * time for; `cells_left` are for another.
 *
 * **Measures** time of a chunk on CLOCK_MONOTONIC_RAW in the victim; a slice's value is its median
 * chunk. `victim_time` = s an iteration, the median over slices with the aggressors, and
 * `victim_alone` over those without, of the same pairs; `victim_slowdown` = median over pairs of
 * with / without. `aggressor_rate`: lines that each touched x 64 B / time. `caches_brought`: what
 * they touched, at most all of their areas, / the last-level cache as reported, in a lap of the
 * victim under them; where that does not decide (victim l2 lives elsewhere, and so do aggressors
 * behind another cache), until the victim is measured. Below 2 the victim's lines may stay where
 * they are: `victim_slowdown` then is no value but a skipped row. Pairs in which victim l3 was not
 * warm alone, since others had pushed it out, do not count; `warm_share` of them do. With none the
 * row is skipped too, and `cold_slowdown` is with / without of a victim that comes from memory
 * anyway: what aggressors cost it on the way there. `victim_bytes` and `aggressor_bytes` (of each)
 * are the working sets used.
 * Keys say n for the number of aggressors.
 * **Source** kernels/cpu/walk.h names it.
 * **Limits** On a shared host the L3 is also other guests': the victim's set may not stay in it
 * even alone, and then what slows it is the way to memory. Rounds may feel caches of other sizes:
 * victim_bytes has their range. More aggressors may make a victim faster: some processors raise the
 * clock of their mesh and caches with the load. A smaller loss hides behind that.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/cpu/aggressor.h"
#include "bench/cpu/effective_cache_size.h"
#include "bench/cpu/fight.h"
#include "bench/cpu/thrash_cells.h"
#include "bench/cpu/victim.h"
#include "bench/registry.h"
#include "harness/lib/stats/stats.h"
#include "harness/lib/sys/clock.h"

/* At most these shares of the budget: to settle one slice, and for a victim's lap in each cell. */
static const double settle_share = 1.0 / 16, laps_share = 1.0 / 8;

struct cache_thrash_params {
    int victim, aggressor;
    int64_t aggressors;
    uint64_t size;
};

static const struct opt cache_thrash_opts[] = {
    OPT_CHOICE("victim", cache_thrash_params, victim, "l3", victim_names, "WHAT",
               "half of the L2, or a part of the L3"),
    OPT_CHOICE("aggressor", cache_thrash_params, aggressor, "all", aggressor_names, "WHAT",
               "what aggressors do: stay in their L1, stream, or touch random lines"),
    OPT_INT("aggressors", cache_thrash_params, aggressors, "0", 0, 4096, "N",
            "at most so many aggressors at once; 0: one on each other core"),
    OPT_SIZE("size", cache_thrash_params, size, NULL, 1 << 16, 1ull << 32, "BYTES",
             "of victim l3; unset: what alone still fits, up to half of the L3"),
    {.name = NULL},
};

enum { BY_VICTIM = 1, BY_AGGRESSOR, BY_WHERE, BY_N };
static const struct bench_dim cache_thrash_dims[] = {
    [BY_VICTIM] = {"victim", .labels = victim_names,
                   .said = LABELS("victim in its L2", "victim in the L3")},
    [BY_AGGRESSOR] = {"aggressor", .labels = aggressor_names,
                      .said = LABELS("aggressors stay in their L1", "aggressors stream",
                                     "aggressors walk at random", NULL)},
    [BY_WHERE] = {"where", .labels = where_names,
                  .said = LABELS("SMT sibling", "same last-level cache", "other last-level cache",
                                 "other NUMA node")},
    [BY_N] = {"n"},
    {.name = NULL},
};

enum {
    METRIC_TIME,
    METRIC_ALONE,
    METRIC_SLOWDOWN,
    METRIC_COLD,
    METRIC_RATE,
    METRIC_BROUGHT,
    METRIC_WARM,
    CELL_METRICS, /* those before are of each cell */
    METRIC_LEFT = CELL_METRICS,
    METRIC_VICTIM_BYTES,
    METRIC_AGGRESSOR_BYTES
};
static const struct bench_metric cache_thrash_metrics[] = {
    [METRIC_TIME] = {"victim_time", "s", "lower", .hidden = true, .gating = true},
    [METRIC_ALONE] = {"victim_alone", "s", "lower", .hidden = true},
    [METRIC_SLOWDOWN] =
        {"victim_slowdown", "ratio", "lower",
         .below_one = "the victim is faster beside them: a busier processor may raise the clock of "
                      "its mesh and caches, and a loss hides behind that"},
    [METRIC_COLD] = {"cold_slowdown", "ratio", "lower"},
    [METRIC_RATE] = {"aggressor_rate", "GB/s", "none", .hidden = true},
    [METRIC_BROUGHT] = {"caches_brought", "ratio", "none", .hidden = true},
    [METRIC_WARM] = {"warm_share", "ratio", "none", .hidden = true},
    [METRIC_LEFT] = {"cells_left", "count", "none", .only_held = true},
    [METRIC_VICTIM_BYTES] = {"victim_bytes", "B", "none"},
    [METRIC_AGGRESSOR_BYTES] = {"aggressor_bytes", "B", "none", .hidden = true},
    {.name = NULL},
};

static const struct bench_figure cache_thrash_figures[] = {
    {.name = "cache_thrash",
     .kind = FIGURE_LINES,
     .metric = "victim_slowdown",
     .title = "slowdown of a worker by cache traffic of other CPUs",
     .how = "Time of the victim with aggressors / without",
     .x = {"aggressors (number)", BY_N, .log = true},
     .y = {"slowdown of the victim (ratio)", .from = 1},
     .series = {BY_WHERE}},
    {.name = NULL},
};

struct cache_thrash {
    struct fight fight;
    struct team team; /* one thread a CPU of the machine, victim = 0 */
    struct thrash_cells cells;
    struct aggressor *all;       /* [ncpus]: mapped where they are one in some cell */
    struct aggressor **fighting; /* of the cell that runs */
    unsigned *members;           /* of the cell that runs: 0, then its aggressors */
    struct aggressor_sizes sizes;
    unsigned left, skipped; /* cells that the round has not drawn yet, and had no time for */
    uint64_t round_seed, deadline_ns;
    double lap_most_ns;
    double warm_ns, cold_ns; /* about, of a lap of the victim from its cache and from memory */
    double alone_most_ns;    /* a chunk that takes longer is no longer one from the cache */
    uint64_t most_bytes;     /* of a victim whose size is to be found; 0: it has its size */
    double scratch[FIGHT_PAIRS_MAX];
};

static int cache_thrash_probe(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    if (ctx->machine->ncpus < 2)
        return err_set(ctx->err, -ENOTSUP, "needs a second CPU for an aggressor");
    if (params->victim == VICTIM_L3 && !victim_l3_range(ctx->machine).most)
        return err_set(ctx->err, -ENOTSUP, "victim l3: no L3, or no L2, is reported here");
    if (params->victim == VICTIM_L2 && !victim_cache_bytes(ctx->machine, 2))
        return err_set(ctx->err, -ENOTSUP, "victim l2: no L2 is reported here");
    return 0;
}

static int map_aggressors(struct cache_thrash *t, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < t->cells.n; i++) {
        const struct thrash_cell *cell = &t->cells.cell[i];
        for (unsigned k = 0; k < cell->n && !rc; k++)
            rc = aggressor_map(&t->all[t->cells.players[cell->where][k]], &t->sizes, err);
    }
    return rc;
}

/* In its own thread each: first touch. */
static void fill(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cache_thrash *t = arg;
    if (rank == 0)
        victim_resize(&t->fight.victim, t->fight.victim.bytes);
    aggressor_fill(&t->all[rank], &t->sizes);
}

static int open_fight(struct cache_thrash *t, const struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    uint64_t l3_bytes = victim_cache_bytes(ctx->machine, 3);
    t->fight.llc_bytes = l3_bytes ? l3_bytes : memory_llc_bytes(ctx->machine);
    if (params->victim == VICTIM_L3 && !params->size)
        t->most_bytes = victim_l3_range(ctx->machine).most;
    int rc = fight_init(&t->fight, ctx->err);
    return rc ? rc
              : victim_init(&t->fight.victim, (enum victim_kind)params->victim, params->size, ctx);
}

static int cache_thrash_setup(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    const struct bench_machine *machine = ctx->machine;
    struct cache_thrash *t = ctx->state;
    t->members = bench_array(ctx, machine->ncpus, sizeof(*t->members));
    t->fighting = bench_array(ctx, machine->ncpus, sizeof(struct aggressor *));
    t->all = bench_array(ctx, machine->ncpus, sizeof(*t->all));
    if (!t->members || !t->fighting || !t->all)
        return -ENOMEM;
    int rc = thrash_cells_find(&t->cells, machine, (enum aggressor_kind)params->aggressor,
                               (unsigned)params->aggressors, ctx->err);
    if (!rc)
        rc = open_fight(t, ctx);
    if (rc)
        return rc;
    t->sizes = aggressor_choose_sizes(machine, t->fight.llc_bytes, t->cells.most);
    t->fight.area_bytes = t->sizes.area_bytes;
    rc = map_aggressors(t, ctx->err);
    if (!rc)
        rc = team_open_all(&t->team, ctx);
    if (!rc)
        (void)team_run(&t->team, NULL, machine->ncpus, fill, t);
    return rc;
}

static void cache_thrash_teardown(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    fight_free(&t->fight);
    for (unsigned i = 0; t->all && i < ctx->machine->ncpus; i++)
        aggressor_free(&t->all[i]);
    thrash_cells_free(&t->cells);
}

static double warm_load_ns(void *arg, uint64_t bytes)
{
    struct victim *victim = &((struct cache_thrash *)arg)->fight.victim;
    if (victim->bytes != bytes || !victim->done) {
        victim_resize(victim, bytes);
        (void)fight_lap_ns(arg);
    }
    return fight_lap_ns(arg) / (double)victim->lines;
}

/* Reading an area that is twice the cache leaves nothing of the victim in it. */
static double cold_lap_ns(struct cache_thrash *t)
{
    for (unsigned i = 1; i < t->team.n; i++)
        if (t->all[i].memory.base) {
            aggressor_sum(&t->all[i]);
            break;
        }
    return fight_lap_ns(&t->fight);
}

static double cold_load_ns(void *arg)
{
    struct cache_thrash *t = arg;
    return cold_lap_ns(t) / (double)t->fight.victim.lines;
}

/* In the victim's thread, the others asleep. */
static void size_victim(void *arg)
{
    struct cache_thrash *t = arg;
    struct victim *victim = &t->fight.victim;
    t->alone_most_ns = INFINITY;
    if (!t->most_bytes) {
        t->cold_ns = cold_lap_ns(t);
        t->warm_ns = fight_lap_ns(&t->fight);
        return;
    }
    struct effective_cache_size felt = {.least = victim->bytes,
                                        .most = t->most_bytes,
                                        .lap_most_ns = t->lap_most_ns,
                                        .warm = warm_load_ns,
                                        .cold = cold_load_ns,
                                        .arg = t};
    victim_resize(victim, effective_cache_size_find(&felt));
    t->warm_ns = felt.warm_ns * (double)victim->lines;
    t->cold_ns = felt.cold_ns * (double)victim->lines;
    t->alone_most_ns = felt.limit_ns * (double)victim->lines / victim->chunks;
}

static void play(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cache_thrash *t = arg;
    if (rank == 0)
        fight_suffer(&t->fight);
    else
        fight_press(&t->fight, t->fighting[rank - 1]);
}

/* Where aggressors share the victim's last cache, and the victim lives there. */
static bool lap_decides(const struct cache_thrash *t, const struct thrash_cell *cell)
{
    return t->fight.victim.kind != VICTIM_L2 &&
           (cell->where == WHERE_SMT || cell->where == WHERE_SAME_LLC);
}

static double pair_value(const struct cache_thrash *t, const struct thrash_cell *cell,
                         const struct fight_pair *pair, unsigned metric)
{
    const double s_per_ns = t->fight.victim.chunks * 1e-9;
    switch (metric) {
    case METRIC_TIME:
        return pair->with_ns * s_per_ns;
    case METRIC_ALONE:
        return pair->without_ns * s_per_ns;
    case METRIC_SLOWDOWN:
    case METRIC_COLD:
        return pair->with_ns / pair->without_ns;
    case METRIC_RATE:
        return pair->touched_bytes * 1e-9 / cell->n;
    default:
        if (cell->kind == AGGRESSOR_L1)
            return NAN; /* it brings nothing */
        return lap_decides(t, cell) ? pair->lap_caches : pair->settle_caches;
    }
}

static bool is_warm(const struct cache_thrash *t, const struct fight_pair *pair)
{
    return pair->without_ns <= t->alone_most_ns;
}

/* Medians over the pairs whose slice alone was warm; where none is, over all, and without a
 * slowdown. */
static void sum_up(struct cache_thrash *t, const struct thrash_cell *cell,
                   double value[static CELL_METRICS])
{
    unsigned warm = 0, npairs = t->fight.npairs;
    for (unsigned i = 0; i < npairs; i++)
        warm += is_warm(t, &t->fight.pairs[i]);
    for (unsigned metric = 0; metric < METRIC_WARM; metric++) {
        unsigned n = 0;
        for (unsigned i = 0; i < npairs; i++)
            if (!warm || is_warm(t, &t->fight.pairs[i]))
                t->scratch[n++] = pair_value(t, cell, &t->fight.pairs[i], metric);
        value[metric] = stats_sort_median(t->scratch, n);
    }
    value[METRIC_WARM] = (double)warm / npairs;
}

static bool is_cold(const double value[static CELL_METRICS])
{
    return !(value[METRIC_WARM] > 0);
}

/* Why there is no slowdown; NULL where there is one. */
static const char *why_absent(const double value[static CELL_METRICS])
{
    if (is_cold(value))
        return "warm_share 0: others used the victim's cache while it was alone";
    if (value[METRIC_BROUGHT] < FIGHT_CACHES_ENOUGH)
        return "caches_brought below 2: the victim's lines may stay (a longer --time allows a "
               "larger victim)";
    return NULL;
}

static void emit_cell(struct bench_ctx *ctx, const struct thrash_cell *cell)
{
    struct cache_thrash *t = ctx->state;
    const struct dims at = DIMS({BY_VICTIM, t->fight.victim.kind}, {BY_AGGRESSOR, cell->kind},
                                {BY_WHERE, cell->where}, {BY_N, cell->n});
    double value[CELL_METRICS];
    struct err why = {0};
    sum_up(t, cell, value);
    if (why_absent(value))
        (void)err_set(&why, -ENOTSUP, "%s", why_absent(value));
    for (unsigned metric = 0; metric < CELL_METRICS; metric++) {
        bool absent = metric == METRIC_SLOWDOWN && bench_emit_absent(ctx, metric, &why, at);
        if (!absent && (metric != METRIC_COLD || is_cold(value)))
            bench_emit(ctx, metric, value[metric], at);
    }
}

/* Time that a cell needs, about. */
static double least_ns(const struct cache_thrash *t, const struct thrash_cell *cell)
{
    double cold_laps = cell->kind == AGGRESSOR_L1 ? 0 : FIGHT_COLD_LAPS;
    return FIGHT_PAIRS_MIN * (cold_laps * t->cold_ns + (FIGHT_LAPS - cold_laps) * t->warm_ns);
}

/* An equal part of the time that is left, or the next round's. */
static int run_cell(struct bench_ctx *ctx, size_t point)
{
    struct cache_thrash *t = ctx->state;
    const struct thrash_cell *cell = &t->cells.cell[point];
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ns = t->deadline_ns > now_ns ? t->deadline_ns - now_ns : 0;
    bool first = t->left == t->cells.n;
    uint64_t share_ns = left_ns / t->left--;
    if (!first && (double)left_ns < least_ns(t, cell)) {
        t->skipped++;
        return 0;
    }
    for (unsigned k = 0; k < cell->n; k++) {
        t->members[1 + k] = t->cells.players[cell->where][k];
        t->fighting[k] = &t->all[t->members[1 + k]];
    }
    t->fight.kind = cell->kind;
    t->fight.n = cell->n;
    t->fight.aggressors = t->fighting;
    t->fight.seed = ctx->round_seed + point;
    t->fight.end_ns = now_ns + share_ns;
    fight_begin(&t->fight);
    (void)team_run(&t->team, t->members, 1 + cell->n, play, t);
    if (t->fight.npairs)
        emit_cell(ctx, cell);
    else
        t->skipped++;
    return 0;
}

static void emit_sizes(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    struct cache_thrash *t = ctx->state;
    const struct dims victim = DIMS({BY_VICTIM, params->victim});
    bench_emit(ctx, METRIC_LEFT, t->skipped, victim);
    bench_emit(ctx, METRIC_VICTIM_BYTES, (double)t->fight.victim.bytes, victim);
    for (enum aggressor_kind kind = 0; kind < AGGRESSOR_KINDS; kind++)
        if (params->aggressor == AGGRESSOR_KINDS || params->aggressor == (int)kind)
            bench_emit(ctx, METRIC_AGGRESSOR_BYTES,
                       (double)(kind == AGGRESSOR_L1 ? t->sizes.l1_bytes : t->sizes.area_bytes),
                       DIMS({BY_AGGRESSOR, kind}));
}

static int cache_thrash_scan(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    double budget_ns = ctx->budget_s * 1e9;
    t->deadline_ns = clock_now_ns() + (uint64_t)budget_ns;
    t->fight.settle_most_ns = (uint64_t)(budget_ns * settle_share);
    t->lap_most_ns = budget_ns * laps_share / (t->cells.n + 2); /* 2: to find the size */
    t->left = t->cells.n;
    team_call(&t->team, 0, size_victim, t);
    int rc = points_run(ctx, t->cells.n, run_cell, NULL);
    if (!rc)
        emit_sizes(ctx);
    return rc;
}

static void sum_touches(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    aggressor_sum(&((struct cache_thrash *)arg)->all[rank]);
}

static int cache_thrash_check(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    int rc = victim_check(&t->fight.victim, ctx->err);
    (void)team_run(&t->team, NULL, ctx->machine->ncpus, sum_touches, t);
    for (unsigned cpu = 1; cpu < ctx->machine->ncpus && !rc; cpu++)
        rc = aggressor_check(&t->all[cpu], ctx->machine->cpus[cpu].os_cpu, ctx->err);
    return rc;
}

const struct bench bench_cache_thrash = {
    .name = "cache_thrash",
    .summary = "how much aggressors on other CPUs slow a victim that lives in its caches",
    .opts = cache_thrash_opts,
    .params_size = sizeof(struct cache_thrash_params),
    .metrics = cache_thrash_metrics,
    .figures = cache_thrash_figures,
    .dims = cache_thrash_dims,
    .probe = cache_thrash_probe,
    .state_size = sizeof(struct cache_thrash),
    .setup = cache_thrash_setup,
    .scan = cache_thrash_scan,
    .check = cache_thrash_check,
    .teardown = cache_thrash_teardown,
};

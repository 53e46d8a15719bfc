/*
 * How much aggressors slow down a victim that lives in its caches, by kind, number and distance of
 * the aggressors.
 *
 * The victim (bench/cpu/thrash_fight.h) runs on the first CPU. Aggressors
 * (bench/cpu/thrash_fight.h) run on other CPUs, or one takes turns with the victim on the
 * victim's CPU. A cell (bench/cpu/thrash_values.h) is one victim, one kind of aggressor, its
 * place, and the number of aggressors. Slices with and without aggressors
 * (bench/cpu/thrash_fight.h) alternate, in random order within a pair. In slices without, the
 * aggressors stay awake but idle (walk_idle), so clocks, idle states and the other users of their
 * CPUs are the same in both. The difference is then the memory system and, on one core, the
 * execution units.
 *
 * Victim l3 is the largest set that alone still runs at the speed of caches
 * (bench/cpu/thrash_values.h), up to half of the reported L3, or less if its laps
 * would take too much of the budget. A round draws the order of the cells and runs those that it
 * has time for; `cells_left` is the number left for other rounds.
 *
 * **Measures** time of a chunk on CLOCK_MONOTONIC_RAW in the victim's thread; a slice's value is
 * its median chunk. `victim_time`, `victim_alone` = s an iteration, medians over the slices with
 * and without aggressors; `victim_slowdown` = median over pairs of with / without.
 * `aggressor_rate`: lines that each aggressor touched x 64 B / time.
 * `caches_brought`: bytes that the aggressors touched, at most all of their areas, / the reported
 * last-level cache. It counts the bytes of one lap of the victim under aggressors. If that cache is
 * not shared, or the victim is not in it, it counts the bytes until the victim is measured. Below 2
 * the victim's lines may stay in the cache: the row of `victim_slowdown` is then skipped.
 * `warm_share`: share of pairs in which the victim was warm alone; other programs may evict victim
 * l3. Only these pairs count. If there are none, the row is skipped too.
 * `cold_slowdown`: with / without if no pair was warm: the cost of aggressors to a victim that
 * reads from memory anyway.
 * `victim_bytes`, `aggressor_bytes` (of each): the working sets. `access_time`: CPU time of the
 * victim under aggressors / its loads.
 *
 * In turns (where=turns) the scheduler switches between two threads. All times are CPU time of the
 * victim, so its share of the CPU does not matter. In slices without aggressors, the other thread
 * multiplies in registers in its turns. A turn begins after another thread had the CPU for 0.5 ms
 * or more. Turns that follow another program's turn do not count.
 * `refill` = us a switch: CPU time of the chunks after a switch, up to the first warm chunk, beyond
 * that of warm chunks, less `switch_cost`, the same without aggressors; medians over turns. It is
 * marked "at least" if most turns end before a warm chunk.
 * `access_first` = ns a load of the first lap after a switch, less the switch; `access_warm` = the
 * median without aggressors, skipped like `refill` if no pair was warm. `turn` = ms of CPU time of
 * a turn.
 *
 * Keys: n, the number of aggressors. If the parameter names a place, keys leave it out, so that
 * `ab` compares places.
 * **Source** kernels/cpu/walk.h names it.
 * **Limits** On a shared host other guests use the L3, too: the victim's set may not stay in it
 * even alone, and then memory access is what slows it. Rounds may find caches of other sizes:
 * victim_bytes has their range. More aggressors may make a victim faster, which hides a smaller
 * loss: some processors raise the clock of their mesh and caches with the load. Threads that take
 * turns lose only caches; processes would lose their TLB, too. context_switch measures switches
 * that the threads ask for, each time that both have gone through their sets.
 */
#include <errno.h>

#include "bench/common/memory.h"
#include "bench/common/points.h"
#include "bench/common/team.h"
#include "bench/cpu/thrash_fight.h"
#include "bench/cpu/thrash_values.h"
#include "bench/registry.h"
#include "harness/lib/sys/clock.h"

/* Limits, as shares of the budget: settling of one slice; the laps of victim l3 over all cells. */
static const double settle_share = 1.0 / 16, laps_share = 1.0 / 8;

struct cache_thrash_params {
    int victim, aggressor, where;
    int64_t aggressors;
    uint64_t size;
};

static const struct opt cache_thrash_opts[] = {
    OPT_CHOICE("victim", cache_thrash_params, victim, "all", victim_names, "WHAT",
               "half of the L1 or L2, or a part of the L3"),
    OPT_CHOICE("aggressor", cache_thrash_params, aggressor, "all", aggressor_names, "WHAT",
               "what aggressors do: stay in their L1, stream, or touch random lines"),
    OPT_CHOICE("where", cache_thrash_params, where, "all", where_names, "PLACE",
               "of aggressors; turns: the victim's CPU, other: the nearest other core"),
    OPT_INT("aggressors", cache_thrash_params, aggressors, "0", 0, 4096, "N",
            "at most so many aggressors at once; 0: one on each other core"),
    OPT_SIZE("size", cache_thrash_params, size, NULL, 1 << 16, 1ull << 32, "BYTES",
             "of victim l3; unset: what alone still fits, up to half of the L3"),
    {.name = NULL},
};

enum { BY_VICTIM = 1, BY_AGGRESSOR, BY_WHERE, BY_N };
static const struct bench_dim cache_thrash_dims[] = {
    [BY_VICTIM] = {"victim", .labels = victim_names,
                   .labels_long =
                       LABELS("victim in its L1", "victim in its L2", "victim in the L3", NULL)},
    [BY_AGGRESSOR] = {"aggressor", .labels = aggressor_names,
                      .labels_long = LABELS("aggressors stay in their L1", "aggressors stream",
                                            "aggressors walk at random", NULL)},
    [BY_WHERE] = {"where", .labels = where_names,
                  .labels_long =
                      LABELS("SMT sibling", "same last-level cache", "other last-level cache",
                             "other NUMA node", "in turns on one CPU", NULL)},
    [BY_N] = {"n"},
    {.name = NULL},
};

enum { METRIC_LEFT = THRASH_VALUES, METRIC_VICTIM_BYTES, METRIC_AGGRESSOR_BYTES };
static const struct bench_metric cache_thrash_metrics[] = {
    [THRASH_TIME] = {"victim_time", "s", "lower", .hidden = true},
    [THRASH_ALONE] = {"victim_alone", "s", "lower", .hidden = true},
    [THRASH_SLOWDOWN] =
        {"victim_slowdown", "ratio", "lower",
         .below_one = "the victim is faster beside them: a busier processor may raise the clock of "
                      "its mesh and caches, and a loss hides behind that"},
    [THRASH_COLD] = {"cold_slowdown", "ratio", "lower"},
    [THRASH_RATE] = {"aggressor_rate", "GB/s", "none", .hidden = true},
    [THRASH_BROUGHT] = {"caches_brought", "ratio", "none", .hidden = true},
    [THRASH_WARM] = {"warm_share", "ratio", "none", .hidden = true},
    [THRASH_ACCESS] = {"access_time", "ns", "lower", .hidden = true, .gating = true},
    [THRASH_REFILL] = {"refill", "us", "lower", .difference = true},
    [THRASH_SWITCH] = {"switch_cost", "us", "lower", .difference = true, .hidden = true},
    [THRASH_ACCESS_FIRST] = {"access_first", "ns", "lower", .difference = true},
    [THRASH_ACCESS_WARM] = {"access_warm", "ns", "lower"},
    [THRASH_TURN] = {"turn", "ms", "none", .hidden = true},
    [METRIC_LEFT] = {"cells_left", "count", "none", .hide_zeros = true},
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
    {.name = "cache_refill",
     .kind = FIGURE_BARS,
     .metric = "refill",
     .title = "time of refilling its caches after each switch, where two take turns on a CPU",
     .how = "CPU time beyond warm caches, less that of the switch itself",
     .x = {"working set of the victim", BY_VICTIM},
     .y = {"time of a refill (us a switch)"},
     .series = {BY_AGGRESSOR}},
    {.name = NULL},
};

struct cache_thrash {
    struct fight fight;
    struct thrash_victim victims[VICTIMS];
    struct team team;  /* a thread per CPU, 0 = victim, and a second thread on the victim's CPU */
    unsigned *os_cpus; /* of the team's threads */
    struct thrash_cells cells;
    struct aggressor *all;     /* [team.n]: mapped if some cell uses it */
    struct aggressor **active; /* of the current cell */
    unsigned *members;         /* of the current cell: 0, then the threads of its aggressors */
    struct aggressor_sizes sizes;
    unsigned left, skipped; /* cells of this round: not drawn yet; without time for them */
    uint64_t round_seed, deadline_ns;
    double lap_most_ns;
    const struct thrash_cell *cell; /* current */
};

static struct thrash_scope scope_of(const struct cache_thrash_params *params)
{
    return (struct thrash_scope){params->victim, params->aggressor, params->where,
                                 (unsigned)params->aggressors};
}

static int cache_thrash_probe(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    const struct thrash_scope scope = scope_of(params);
    struct thrash_cells cells;
    bool reported = false;
    for (enum victim_kind victim = 0; victim < VICTIMS; victim++)
        if (params->victim == VICTIMS || params->victim == (int)victim)
            reported = reported || victim_range(ctx->machine, victim).most;
    if (!reported)
        return err_set(ctx->err, -ENOTSUP, "victim %s: its cache is not reported here",
                       victim_names[params->victim]);
    int rc = thrash_cells_find(&cells, ctx->machine, &scope, ctx->err);
    if (!rc && !cells.n)
        rc = err_set(ctx->err, -ENOTSUP, "no CPU is where=%s beside the victim's",
                     where_names[params->where]);
    thrash_cells_free(&cells);
    return rc;
}

static int map_aggressors(struct cache_thrash *t, struct err *err)
{
    int rc = 0;
    for (unsigned i = 0; i < t->cells.n; i++) {
        const struct thrash_cell *cell = &t->cells.cell[i];
        for (unsigned k = 0; k < cell->n && !rc; k++)
            rc = aggressor_map(&t->all[t->cells.candidates[cell->where][k]], &t->sizes, err);
    }
    return rc;
}

/* First touch: each thread fills its own memory. */
static void fill(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cache_thrash *t = arg;
    for (unsigned i = 0; rank == 0 && i < VICTIMS; i++)
        if (t->victims[i].victim.bytes)
            victim_resize(&t->victims[i].victim, t->victims[i].victim.bytes);
    aggressor_fill(&t->all[rank], &t->sizes);
}

static int open_fight(struct cache_thrash *t, const struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    uint64_t l3_bytes = victim_cache_bytes(ctx->machine, 3);
    t->fight.llc_bytes = l3_bytes ? l3_bytes : memory_llc_bytes(ctx->machine);
    int rc = fight_init(&t->fight, ctx->err);
    for (unsigned i = 0; i < t->cells.n && !rc; i++) {
        enum victim_kind kind = t->cells.cell[i].victim;
        struct thrash_victim *victim = &t->victims[kind];
        if (victim->victim.bytes)
            continue;
        if (kind == VICTIM_L3 && !params->size)
            victim->most_bytes = victim_range(ctx->machine, kind).most;
        rc = victim_init(&victim->victim, kind, params->size, ctx);
    }
    return rc;
}

static int open_team(struct cache_thrash *t, struct bench_ctx *ctx)
{
    unsigned ncpus = ctx->machine->ncpus;
    for (unsigned i = 0; i <= ncpus; i++)
        t->os_cpus[i] = ctx->machine->cpus[i % ncpus].os_cpu;
    return team_open(&t->team, ctx, t->os_cpus, ncpus + 1);
}

static int cache_thrash_setup(struct bench_ctx *ctx)
{
    const struct thrash_scope scope = scope_of(ctx->params);
    const struct bench_machine *machine = ctx->machine;
    struct cache_thrash *t = ctx->state;
    t->os_cpus = bench_array(ctx, machine->ncpus + 1, sizeof(*t->os_cpus));
    t->members = bench_array(ctx, machine->ncpus, sizeof(*t->members));
    t->active = bench_array(ctx, machine->ncpus, sizeof(struct aggressor *));
    t->all = bench_array(ctx, machine->ncpus + 1, sizeof(*t->all));
    if (!t->os_cpus || !t->members || !t->active || !t->all)
        return -ENOMEM;
    int rc = thrash_cells_find(&t->cells, machine, &scope, ctx->err);
    if (!rc)
        rc = open_fight(t, ctx);
    if (rc)
        return rc;
    t->sizes = aggressor_choose_sizes(machine, t->fight.llc_bytes, t->cells.most + 1);
    t->fight.area_bytes = t->sizes.area_bytes;
    rc = map_aggressors(t, ctx->err);
    if (!rc)
        rc = open_team(t, ctx);
    if (!rc)
        (void)team_run(&t->team, NULL, t->team.n, fill, t);
    return rc;
}

static void cache_thrash_teardown(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    fight_free(&t->fight);
    for (unsigned i = 0; i < VICTIMS; i++)
        victim_free(&t->victims[i].victim);
    for (unsigned i = 0; t->all && i <= ctx->machine->ncpus; i++)
        aggressor_free(&t->all[i]);
    thrash_cells_free(&t->cells);
}

/* Runs in the victim's thread while all other threads sleep. */
static void measure_alone(void *arg)
{
    struct cache_thrash *t = arg;
    struct aggressor *aggressor = &t->all[t->cells.candidates[t->cells.cell[0].where][0]];
    for (unsigned i = 0; i < VICTIMS; i++)
        if (t->victims[i].victim.bytes)
            thrash_victim_measure(&t->victims[i], &t->fight, aggressor, t->lap_most_ns);
}

static void run_member(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cache_thrash *t = arg;
    if (rank)
        fight_run_aggressor(&t->fight, t->active[rank - 1]);
    else if (t->cell->where == WHERE_TURNS)
        fight_run_victim_in_turns(&t->fight);
    else
        fight_run_victim(&t->fight);
}

/* The key names the place unless the parameter does. */
static struct dims place_of_cell(const struct bench_ctx *ctx, const struct thrash_cell *cell)
{
    const struct cache_thrash_params *params = ctx->params;
    const struct dims at = DIMS({BY_VICTIM, cell->victim}, {BY_AGGRESSOR, cell->kind},
                                {BY_WHERE, cell->where}, {BY_N, cell->n});
    return params->where == WHERE_ALL ? at : dims_without(&at, BY_WHERE);
}

static void emit_cell(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    const struct thrash_cell *cell = t->cell;
    const struct dims at = place_of_cell(ctx, cell);
    double value[THRASH_VALUES];
    thrash_sum_up(&t->fight, cell, &t->victims[cell->victim], value);
    for (unsigned metric = 0; metric < THRASH_VALUES; metric++) {
        struct err why = {0};
        const char *absent = thrash_why_absent(cell, metric, value);
        if (absent)
            (void)err_set(&why, -ENOTSUP, "%s", absent);
        if (bench_emit_absent(ctx, metric, &why, at))
            continue;
        if (metric == THRASH_REFILL)
            bench_emit_doubt(ctx, metric, value[metric], thrash_why_doubted(&t->fight), at);
        else
            bench_emit(ctx, metric, value[metric], at);
    }
}

/* Approximate time that a cell needs. */
static double least_ns(const struct cache_thrash *t, const struct thrash_cell *cell)
{
    const struct thrash_victim *victim = &t->victims[cell->victim];
    double cold_laps = cell->kind == AGGRESSOR_L1 ? 0 : FIGHT_COLD_LAPS;
    double pair_ns = cold_laps * victim->cold_ns + (FIGHT_LAPS - cold_laps) * victim->warm_ns;
    return cell->where == WHERE_TURNS ? FIGHT_TURNS_NS : FIGHT_PAIRS_MIN * pair_ns;
}

static void begin_cell(struct cache_thrash *t, const struct thrash_cell *cell, uint64_t seed,
                       uint64_t end_ns)
{
    struct thrash_victim *victim = &t->victims[cell->victim];
    for (unsigned k = 0; k < cell->n; k++) {
        t->members[1 + k] = t->cells.candidates[cell->where][k];
        t->active[k] = &t->all[t->members[1 + k]];
    }
    t->cell = cell;
    t->fight.kind = cell->kind;
    t->fight.n = cell->n;
    t->fight.aggressors = t->active;
    t->fight.victim = &victim->victim;
    t->fight.warm_ns = victim->warm_ns / (double)victim->victim.lap;
    t->fight.seed = seed;
    t->fight.end_ns = end_ns;
    fight_begin(&t->fight);
}

/* Gives the cell an equal share of the time left, or skips it; the first cell always runs. */
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
    begin_cell(t, cell, ctx->round_seed + point, now_ns + share_ns);
    (void)team_run(&t->team, t->members, 1 + cell->n, run_member, t);
    emit_cell(ctx);
    return 0;
}

static void emit_sizes(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    struct cache_thrash *t = ctx->state;
    bench_emit(ctx, METRIC_LEFT, t->skipped, NO_DIMS);
    for (unsigned i = 0; i < VICTIMS; i++)
        if (t->victims[i].victim.bytes)
            bench_emit(ctx, METRIC_VICTIM_BYTES, (double)t->victims[i].victim.bytes,
                       DIMS({BY_VICTIM, i}));
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
    unsigned cells = 2; /* the search for the size counts as two cells */
    for (unsigned i = 0; i < t->cells.n; i++)
        cells += t->cells.cell[i].victim == VICTIM_L3;
    t->lap_most_ns = budget_ns * laps_share / cells;
    t->left = t->cells.n;
    team_call(&t->team, 0, measure_alone, t);
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
    int rc = 0;
    for (unsigned i = 0; i < VICTIMS && !rc; i++)
        if (t->victims[i].victim.bytes)
            rc = victim_check(&t->victims[i].victim, ctx->err);
    (void)team_run(&t->team, NULL, t->team.n, sum_touches, t);
    for (unsigned i = 1; i < t->team.n && !rc; i++)
        rc = aggressor_check(&t->all[i], t->os_cpus[i], ctx->err);
    return rc;
}

const struct bench bench_cache_thrash = {
    .name = "cache_thrash",
    .summary =
        "how much aggressors, on other CPUs or in turns, slow a victim that lives in its caches",
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

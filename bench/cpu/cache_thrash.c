/*
 * What aggressors take from a victim's caches, by what they do, how many there are, and how near.
 *
 * The victim (bench/cpu/victim.h) runs on the first CPU. Aggressors (kernels/cpu/walk.h) run on
 * others:
 *
 *   l1      stays in half of its own L1: a busy core and no more, the negative control
 *   stream  changes line after line of an area of twice the L3, round and round
 *   random  changes random lines of that area
 *   where   smt: the victim's core; same-llc, other-llc: cores that share, or not, its last cache,
 *           on its node; other-node: cores of other nodes. What the machine lacks is left out.
 *   n       1, 2, 4, .. and all of that place, at most `aggressors`
 *
 * Slices with and without aggressors alternate, a few milliseconds each, in random order within a
 * pair; the first third of a slice is not counted. In the slices without, the aggressors stay awake
 * but idle (walk_rest), so that neither clocks, nor idle states, nor who else gets their CPUs
 * differ between the two: what is left is the memory system, and on one core the execution units.
 *
 * **Measures** time of a chunk on CLOCK_MONOTONIC_RAW in the victim; a slice's value is its median
 * chunk. `victim_time` = s an iteration, the median over slices with the aggressors (n=0: without,
 * over all pairs); `victim_slowdown` = median over pairs of with / without. `victim_bytes` and
 * `aggressor_bytes` (of each) are the working sets used. Keys say n for the number of aggressors.
 * **Source** kernels/cpu/walk.h names it.
 * **Limits** An aggressor's area is at most 1 GiB, and all areas a quarter of the memory that can
 * be taken. On a shared host the L3 is also other guests': the victim's set may not stay in it even
 * alone, and then what slows it is the way to memory. Aggressors that other processes keep off
 * their CPUs do not press.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/memory.h"
#include "bench/common/team.h"
#include "bench/cpu/victim.h"
#include "bench/registry.h"
#include "harness/base/stats.h"
#include "harness/sys/clock.h"
#include "kernels/cpu/mix64.h"
#include "kernels/cpu/walk.h"

enum {
    PAIRS_MIN = 6,
    PAIRS_MAX = 400,
    CHUNKS_MAX = 4096, /* kept of a slice */
    SETTLE_SHARE = 3,  /* of a slice */
    BURST = 512,       /* touches between looks at what to do */
    REST_STEPS = 256,
    CELLS_MAX = 128,
    MEMORY_SHARE = 4 /* areas together: 1 / this of the memory that can be taken */
};

static const double slice_s = 0.006;
static const uint64_t area_most_bytes = 1ull << 30, area_least_bytes = 1ull << 20;

enum aggressor { AGGRESSOR_L1, AGGRESSOR_STREAM, AGGRESSOR_RANDOM, AGGRESSOR_ALL };
static const char *const aggressor_names[] = {"l1", "stream", "random", "all", NULL};

enum where { WHERE_SMT, WHERE_SAME_LLC, WHERE_OTHER_LLC, WHERE_OTHER_NODE, WHERES };
static const char *const where_names[] = {"smt", "same-llc", "other-llc", "other-node"};

struct cache_thrash_params {
    int victim, aggressor;
    int64_t aggressors;
};

static const struct opt cache_thrash_opts[] = {
    OPT_CHOICE("victim", cache_thrash_params, victim, "l3", victim_names, "WHAT",
               "half of the L2, a share of the L3, or the preprocessing of pipeline"),
    OPT_CHOICE("aggressor", cache_thrash_params, aggressor, "all", aggressor_names, "WHAT",
               "what aggressors do: stay in their L1, stream, or touch random lines"),
    OPT_INT("aggressors", cache_thrash_params, aggressors, "8", 1, 4096, "N",
            "at most so many aggressors at once"),
    {.name = NULL},
};

enum { METRIC_TIME, METRIC_SLOWDOWN, METRIC_VICTIM_BYTES, METRIC_AGGRESSOR_BYTES };
static const struct bench_metric cache_thrash_metrics[] = {
    {"victim_time", "s", "lower"},
    {"victim_slowdown", "ratio", "lower"},
    {"victim_bytes", "B", "none"},
    {"aggressor_bytes", "B", "none"},
    {.name = NULL},
};

/* One bar of the plot. */
struct cell {
    enum aggressor aggressor;
    enum where where;
    unsigned n; /* aggressors: the first n of players[where] */
};

enum order { ORDER_REST, ORDER_PRESS, ORDER_END };

struct cache_thrash {
    struct victim victim;
    struct team team; /* one thread a CPU of the machine, victim = 0 */
    unsigned nplayers[WHERES], *players[WHERES];
    unsigned most;              /* aggressors at once, in any cell */
    struct memory_block *areas; /* [ncpus]: of those that are an aggressor in some cell */
    struct walk *walks;         /* [ncpus][AGGRESSOR_ALL] */
    unsigned *members;          /* of the cell that runs: 0, then its aggressors */
    size_t area_bytes, l1_bytes;
    struct cell cells[CELLS_MAX];
    unsigned ncells;
    uint64_t seed;
    /* Of the cell that runs. */
    _Alignas(128) _Atomic int order;
    _Alignas(128) const struct cell *cell;
    unsigned pairs, pairs_done;
    uint64_t slice_ns;
    double chunk_ns[CHUNKS_MAX];
    double with_ns[PAIRS_MAX], ratio[PAIRS_MAX];
    double *without_ns; /* [CELLS_MAX * PAIRS_MAX]: of all cells */
    size_t nwithout;
};

static int cache_thrash_probe(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    if (ctx->machine->ncpus < 2)
        return err_set(ctx->err, -ENOTSUP, "needs a second CPU for an aggressor");
    if (params->victim == VICTIM_L3 && !victim_l3_bytes(ctx->machine))
        return err_set(ctx->err, -ENOTSUP, "victim l3: no L3, or no L2, is reported here");
    if (params->victim == VICTIM_L2 && !victim_cache_bytes(ctx->machine, 2))
        return err_set(ctx->err, -ENOTSUP, "victim l2: no L2 is reported here");
    return 0;
}

static enum where place_of(const struct bench_cpu *cpu, const struct bench_cpu *victim)
{
    if (cpu->core == victim->core)
        return WHERE_SMT;
    if (cpu->os_node != victim->os_node)
        return WHERE_OTHER_NODE;
    return cpu->llc == victim->llc ? WHERE_SAME_LLC : WHERE_OTHER_LLC;
}

/* One CPU a core, but for the victim's core. */
static void find_players(struct cache_thrash *t, const struct bench_machine *machine)
{
    for (unsigned i = 1; i < machine->ncpus; i++) {
        enum where where = place_of(&machine->cpus[i], &machine->cpus[0]);
        bool seen = false;
        for (unsigned j = 1; j < i && where != WHERE_SMT; j++)
            seen = seen || machine->cpus[j].core == machine->cpus[i].core;
        if (!seen)
            t->players[where][t->nplayers[where]++] = i;
    }
}

static void add_cells(struct cache_thrash *t, enum aggressor aggressor, unsigned most)
{
    for (unsigned where = 0; where < WHERES; where++) {
        unsigned all = t->nplayers[where] < most ? t->nplayers[where] : most;
        for (unsigned n = 1; all && t->ncells < CELLS_MAX; n = 2 * n < all ? 2 * n : all) {
            t->cells[t->ncells++] = (struct cell){aggressor, (enum where)where, n};
            t->most = n > t->most ? n : t->most;
            if (n == all)
                break;
        }
    }
}

static void find_cells(struct cache_thrash *t, const struct cache_thrash_params *params)
{
    for (enum aggressor a = 0; a < AGGRESSOR_ALL; a++)
        if (params->aggressor == AGGRESSOR_ALL || params->aggressor == (int)a)
            add_cells(t, a, (unsigned)params->aggressors);
}

static void choose_sizes(struct cache_thrash *t, const struct bench_machine *machine)
{
    uint64_t l1_bytes = victim_cache_bytes(machine, 1);
    t->l1_bytes = l1_bytes ? (size_t)l1_bytes / 2 : 16384;
    uint64_t bytes = 2 * memory_llc_bytes(machine);
    uint64_t room = memory_available_bytes() / MEMORY_SHARE / (t->most ? t->most : 1);
    bytes = bytes > area_most_bytes ? area_most_bytes : bytes;
    bytes = bytes > room ? room : bytes;
    bytes = bytes < area_least_bytes ? area_least_bytes : bytes;
    t->area_bytes = memory_round_down(bytes, 4096);
}

static int allocate(struct cache_thrash *t, unsigned ncpus, struct err *err)
{
    bool good = true;
    for (unsigned where = 0; where < WHERES; where++)
        good = (t->players[where] = calloc(ncpus, sizeof(*t->players[where]))) && good;
    t->areas = calloc(ncpus, sizeof(*t->areas));
    t->walks = calloc((size_t)ncpus * AGGRESSOR_ALL, sizeof(*t->walks));
    t->members = calloc(ncpus, sizeof(*t->members));
    t->without_ns = calloc((size_t)CELLS_MAX * PAIRS_MAX, sizeof(*t->without_ns));
    if (!good || !t->areas || !t->walks || !t->members || !t->without_ns)
        return err_set(err, -ENOMEM, "cannot allocate the state of the scan");
    return 0;
}

/* stream and random share an area; l1 has a piece of its own behind it. */
static int map_areas(struct cache_thrash *t, struct err *err)
{
    for (unsigned i = 0; i < t->ncells; i++)
        for (unsigned k = 0; k < t->cells[i].n; k++) {
            struct memory_block *area = &t->areas[t->players[t->cells[i].where][k]];
            int rc =
                area->base ? 0 : memory_map(area, t->area_bytes + t->l1_bytes, MEMORY_THP, err);
            if (rc)
                return rc;
        }
    return 0;
}

/* In its own thread each: first touch. */
static void fill(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cache_thrash *t = arg;
    if (rank == 0)
        victim_fill(&t->victim);
    struct memory_block *block = &t->areas[rank];
    if (!block->base)
        return;
    memset(block->base, 0, block->bytes);
    const struct walk big = {.area = block->base, .lines = t->area_bytes / sizeof(*big.area)};
    const struct walk small = {.area = big.area + big.lines,
                               .lines = t->l1_bytes / sizeof(*small.area)};
    struct walk *walks = t->walks + (size_t)rank * AGGRESSOR_ALL;
    walks[AGGRESSOR_L1] = small;
    walks[AGGRESSOR_STREAM] = walks[AGGRESSOR_RANDOM] = big;
}

static int cache_thrash_setup(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    struct cache_thrash *t = aligned_alloc(_Alignof(struct cache_thrash), sizeof(*t));
    ctx->state = t;
    if (!t)
        return err_set(ctx->err, -ENOMEM, "cannot allocate the state of the scan");
    memset(t, 0, sizeof(*t));
    t->seed = ctx->seed;
    int rc = allocate(t, ctx->machine->ncpus, ctx->err);
    if (rc)
        return rc;
    find_players(t, ctx->machine);
    find_cells(t, params);
    choose_sizes(t, ctx->machine);
    rc = victim_init(&t->victim, (enum victim_kind)params->victim, ctx);
    if (!rc)
        rc = map_areas(t, ctx->err);
    if (!rc)
        rc = team_start_all(&t->team, ctx);
    if (!rc)
        (void)team_run(&t->team, NULL, ctx->machine->ncpus, fill, t);
    return rc;
}

static void cache_thrash_teardown(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    ctx->state = NULL;
    if (!t)
        return;
    team_stop(&t->team);
    victim_free(&t->victim);
    for (unsigned i = 0; t->areas && i < ctx->machine->ncpus; i++)
        memory_unmap(&t->areas[i]);
    for (unsigned where = 0; where < WHERES; where++)
        free(t->players[where]);
    free(t->without_ns);
    free(t->members);
    free(t->walks);
    free(t->areas);
    free(t);
}

static void press(struct cache_thrash *t, unsigned cpu)
{
    struct walk *walk = &t->walks[(size_t)cpu * AGGRESSOR_ALL + t->cell->aggressor];
    for (int order; (order = atomic_load_explicit(&t->order, memory_order_acquire)) != ORDER_END;) {
        if (order == ORDER_REST)
            walk_rest(walk, REST_STEPS);
        else if (t->cell->aggressor == AGGRESSOR_RANDOM)
            walk_random(walk, BURST);
        else
            walk_stream(walk, BURST);
    }
}

/* Nanoseconds of the median chunk. */
static double run_slice(struct cache_thrash *t, enum order order)
{
    size_t n = 0;
    atomic_store(&t->order, (int)order);
    uint64_t now_ns = clock_now_ns(), count_ns = now_ns + t->slice_ns / SETTLE_SHARE;
    uint64_t end_ns = now_ns + t->slice_ns;
    while (now_ns < end_ns || n == 0) {
        victim_run_chunk(&t->victim);
        uint64_t after_ns = clock_now_ns();
        if (now_ns >= count_ns && n < CHUNKS_MAX)
            t->chunk_ns[n++] = (double)(after_ns - now_ns);
        now_ns = after_ns;
    }
    return stats_sort_median(t->chunk_ns, n);
}

static void suffer(struct cache_thrash *t)
{
    uint64_t end_ns = clock_now_ns() + 2 * t->slice_ns * t->pairs;
    t->pairs_done = 0;
    /* Chunks that were interrupted make slices longer than planned. */
    while (t->pairs_done < t->pairs && (t->pairs_done < PAIRS_MIN || clock_now_ns() < end_ns)) {
        unsigned pair = t->pairs_done++;
        bool first = mix64(t->seed + pair) % 2;
        double ns[2];
        ns[first] = run_slice(t, first ? ORDER_PRESS : ORDER_REST);
        ns[!first] = run_slice(t, first ? ORDER_REST : ORDER_PRESS);
        t->with_ns[pair] = ns[1];
        t->ratio[pair] = ns[1] / ns[0];
        t->without_ns[t->nwithout++] = ns[0];
    }
    atomic_store(&t->order, ORDER_END);
}

static void play(void *arg, unsigned rank, unsigned n)
{
    (void)n;
    struct cache_thrash *t = arg;
    if (rank == 0)
        suffer(t);
    else
        press(t, t->members[rank]);
}

static int emit_cell(struct bench_ctx *ctx, const struct cell *cell)
{
    const struct cache_thrash_params *params = ctx->params;
    struct cache_thrash *t = ctx->state;
    const double values[] = {
        [METRIC_TIME] = stats_sort_median(t->with_ns, t->pairs_done) * t->victim.chunks * 1e-9,
        [METRIC_SLOWDOWN] = stats_sort_median(t->ratio, t->pairs_done),
    };
    int rc = 0;
    for (unsigned metric = METRIC_TIME; metric <= METRIC_SLOWDOWN && !rc; metric++)
        rc = bench_emit(ctx, metric, values[metric], "victim=%s;aggressor=%s;where=%s;n=%u",
                        victim_names[params->victim], aggressor_names[cell->aggressor],
                        where_names[cell->where], cell->n);
    return rc;
}

static int run_cell(struct bench_ctx *ctx, const struct cell *cell)
{
    struct cache_thrash *t = ctx->state;
    t->cell = cell;
    for (unsigned k = 0; k < cell->n; k++)
        t->members[1 + k] = t->players[cell->where][k];
    atomic_store(&t->order, ORDER_REST);
    (void)team_run(&t->team, t->members, 1 + cell->n, play, t);
    return emit_cell(ctx, cell);
}

/* Each cell gets the same time: as many pairs as fit at slice_s, or shorter slices. */
static void divide_budget(struct cache_thrash *t, double budget_s)
{
    double cell_s = budget_s / t->ncells, pairs = cell_s / (2 * slice_s);
    t->pairs = pairs < PAIRS_MIN ? PAIRS_MIN : pairs > PAIRS_MAX ? PAIRS_MAX : (unsigned)pairs;
    double slice = cell_s / (2 * t->pairs);
    t->slice_ns = (uint64_t)(1e9 * (slice < slice_s ? slice : slice_s));
}

static int emit_sizes(struct bench_ctx *ctx)
{
    const struct cache_thrash_params *params = ctx->params;
    struct cache_thrash *t = ctx->state;
    const char *victim = victim_names[params->victim];
    int rc = bench_emit(ctx, METRIC_TIME,
                        stats_sort_median(t->without_ns, t->nwithout) * t->victim.chunks * 1e-9,
                        "victim=%s;n=0", victim);
    if (!rc)
        rc = bench_emit(ctx, METRIC_VICTIM_BYTES, (double)t->victim.bytes, "victim=%s", victim);
    for (enum aggressor a = 0; a < AGGRESSOR_ALL && !rc; a++)
        if (params->aggressor == AGGRESSOR_ALL || params->aggressor == (int)a)
            rc = bench_emit(ctx, METRIC_AGGRESSOR_BYTES,
                            (double)(a == AGGRESSOR_L1 ? t->l1_bytes : t->area_bytes),
                            "aggressor=%s", aggressor_names[a]);
    return rc;
}

static int cache_thrash_scan(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    divide_budget(t, ctx->budget_s);
    t->nwithout = 0;
    int rc = 0;
    for (unsigned i = 0; i < t->ncells && !rc; i++)
        rc = run_cell(ctx, &t->cells[i]);
    return rc ? rc : emit_sizes(ctx);
}

/* Every touch left its mark, of stream and random in the one area they share. */
static int check_walks(struct cache_thrash *t, unsigned cpu, struct err *err)
{
    const struct walk *walks = t->walks + (size_t)cpu * AGGRESSOR_ALL;
    uint64_t want = walks[AGGRESSOR_STREAM].touches + walks[AGGRESSOR_RANDOM].touches;
    uint64_t got = want ? walk_sum(&walks[AGGRESSOR_STREAM]) : 0;
    uint64_t l1_want = walks[AGGRESSOR_L1].touches;
    uint64_t l1_got = l1_want ? walk_sum(&walks[AGGRESSOR_L1]) : 0;
    if (got == want && l1_got == l1_want)
        return 0;
    return err_set(err, -EBADMSG,
                   "aggressor %u touched %llu and %llu lines, but left %llu and %llu", cpu,
                   (unsigned long long)want, (unsigned long long)l1_want, (unsigned long long)got,
                   (unsigned long long)l1_got);
}

static int cache_thrash_check(struct bench_ctx *ctx)
{
    struct cache_thrash *t = ctx->state;
    int rc = victim_check(&t->victim, ctx->err);
    for (unsigned cpu = 1; cpu < ctx->machine->ncpus && !rc; cpu++)
        rc = check_walks(t, cpu, ctx->err);
    return rc;
}

const struct bench bench_cache_thrash = {
    .name = "cache_thrash",
    .summary = "how much aggressors on other CPUs slow a victim that lives in its caches",
    .opts = cache_thrash_opts,
    .params_size = sizeof(struct cache_thrash_params),
    .metrics = cache_thrash_metrics,
    .probe = cache_thrash_probe,
    .setup = cache_thrash_setup,
    .scan = cache_thrash_scan,
    .check = cache_thrash_check,
    .teardown = cache_thrash_teardown,
};

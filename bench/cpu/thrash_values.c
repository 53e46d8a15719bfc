#include "bench/cpu/thrash_values.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/lib/stats.h"

/* True if the victim lives in the last-level cache, and the aggressors share that cache. */
static bool lap_decides(const struct thrash_cell *cell)
{
    return cell->victim == VICTIM_L3 && (cell->where == WHERE_SMT || cell->where == WHERE_SAME_LLC);
}

static double turns_value(const struct fight_pair *pair, unsigned value)
{
    switch (value) {
    case THRASH_ACCESS:
        return pair->cpu_ns / VICTIM_CHUNK_LOADS;
    case THRASH_REFILL:
        return (pair->with.refill_ns - pair->without.refill_ns) * 1e-3;
    case THRASH_SWITCH:
        return pair->without.refill_ns * 1e-3;
    case THRASH_ACCESS_FIRST:
        return (pair->warm_ns + pair->with.first_ns - pair->without.first_ns) / VICTIM_CHUNK_LOADS;
    case THRASH_ACCESS_WARM:
        return pair->warm_ns / VICTIM_CHUNK_LOADS;
    case THRASH_TURN:
        return pair->with.ns * 1e-6;
    default:
        return NAN;
    }
}

static double pair_value(const struct fight *fight, const struct thrash_cell *cell,
                         const struct fight_pair *pair, unsigned value)
{
    const double s_per_ns = fight->victim->chunks * 1e-9;
    if (cell->where == WHERE_TURNS)
        return turns_value(pair, value);
    switch (value) {
    case THRASH_TIME:
        return pair->with_ns * s_per_ns;
    case THRASH_ALONE:
        return pair->without_ns * s_per_ns;
    case THRASH_SLOWDOWN:
    case THRASH_COLD:
        return pair->with_ns / pair->without_ns;
    case THRASH_RATE:
        return pair->touched_bytes * 1e-9 / cell->n;
    case THRASH_ACCESS:
        return pair->cpu_ns / VICTIM_CHUNK_LOADS;
    case THRASH_BROUGHT:
        if (cell->kind == AGGRESSOR_L1)
            return NAN; /* it brings no data into the last-level cache */
        return lap_decides(cell) ? pair->lap_caches : pair->settle_caches;
    default:
        return NAN;
    }
}

static bool is_warm(const struct thrash_cell *cell, const struct fight_pair *pair,
                    const struct thrash_victim *victim)
{
    double alone_ns = cell->where == WHERE_TURNS ? pair->warm_ns : pair->without_ns;
    return alone_ns <= victim->alone_most_ns;
}

void thrash_sum_up(const struct fight *fight, const struct thrash_cell *cell,
                   const struct thrash_victim *victim, double value[static THRASH_VALUES])
{
    double scratch[FIGHT_PAIRS_MAX];
    unsigned warm = 0;
    for (unsigned i = 0; i < fight->npairs; i++)
        warm += is_warm(cell, &fight->pairs[i], victim);
    for (unsigned which = 0; which < THRASH_VALUES; which++) {
        unsigned n = 0;
        for (unsigned i = 0; i < fight->npairs; i++)
            if (!warm || is_warm(cell, &fight->pairs[i], victim))
                scratch[n++] = pair_value(fight, cell, &fight->pairs[i], which);
        value[which] = stats_sort_median(scratch, n);
    }
    value[THRASH_WARM] = (double)warm / fight->npairs;
    if (warm)
        value[THRASH_COLD] = NAN;
    else
        value[THRASH_SWITCH] = value[THRASH_ACCESS_FIRST] = value[THRASH_ACCESS_WARM] = NAN;
}

const char *thrash_why_absent(const struct thrash_cell *cell, unsigned which,
                              const double value[static THRASH_VALUES])
{
    const bool turns = cell->where == WHERE_TURNS;
    const unsigned needs_warm = turns ? THRASH_REFILL : THRASH_SLOWDOWN;
    if (which != needs_warm && !(turns && which == THRASH_ACCESS_WARM))
        return NULL;
    if (!(value[THRASH_WARM] > 0))
        return "warm_share 0: others used the victim's cache while it was alone";
    if (which == THRASH_ACCESS_WARM)
        return NULL;
    if (turns && isnan(value[THRASH_REFILL]))
        return "other programs had the victim's CPU before every turn";
    if (cell->where == WHERE_SMT && cell->victim != VICTIM_L3)
        return NULL; /* they share the L1 and L2: the last-level cache does not decide */
    if (value[THRASH_BROUGHT] < FIGHT_CACHES_ENOUGH)
        return "caches_brought below 2: the victim's lines may stay (a longer --time allows a "
               "larger victim)";
    return NULL;
}

const char *thrash_why_doubted(const struct fight *fight)
{
    unsigned cut = 0;
    for (unsigned i = 0; i < fight->npairs; i++)
        cut += !fight->pairs[i].with.warm;
    return 2 * cut > fight->npairs ? "at least: the turn ends before the set is in the cache again"
                                   : "";
}

const char *const where_names[] = {"smt",   "same-llc", "other-llc", "other-node",
                                   "turns", "other",    "all",       NULL};

static enum where place_of(const struct bench_cpu *cpu, const struct bench_cpu *victim)
{
    if (cpu->core == victim->core)
        return WHERE_SMT;
    if (cpu->os_node != victim->os_node)
        return WHERE_OTHER_NODE;
    return cpu->llc == victim->llc ? WHERE_SAME_LLC : WHERE_OTHER_LLC;
}

static void find_candidates(struct thrash_cells *cells, const struct bench_machine *machine)
{
    cells->candidates[WHERE_TURNS][cells->ncandidates[WHERE_TURNS]++] = machine->ncpus;
    for (unsigned i = 1; i < machine->ncpus; i++) {
        enum where where = place_of(&machine->cpus[i], &machine->cpus[0]);
        bool seen = false;
        for (unsigned j = 1; j < i && where != WHERE_SMT; j++)
            seen = seen || machine->cpus[j].core == machine->cpus[i].core;
        if (!seen)
            cells->candidates[where][cells->ncandidates[where]++] = i;
    }
}

static void add_counts(struct thrash_cells *cells, struct thrash_cell cell, unsigned most)
{
    unsigned all = cells->ncandidates[cell.where];
    all = most && most < all ? most : all;
    for (cell.n = 1; all && cells->n < THRASH_CELLS_MAX;
         cell.n = 2 * cell.n < all ? 2 * cell.n : all) {
        cells->cell[cells->n++] = cell;
        cells->most = cell.n > cells->most ? cell.n : cells->most;
        if (cell.n == all)
            break;
    }
}

static bool is_asked(int scope, int all, unsigned which)
{
    return scope == all || scope == (int)which;
}

static void add_cells(struct thrash_cells *cells, const struct thrash_scope *scope,
                      enum victim_kind victim)
{
    bool shared = victim != VICTIM_L3 && scope->victim == VICTIMS && scope->where == WHERE_ALL;
    for (enum aggressor_kind kind = 0; kind < AGGRESSOR_KINDS; kind++)
        for (enum where where = 0; where < WHERES; where++)
            if (is_asked(scope->aggressor, AGGRESSOR_KINDS, kind) &&
                is_asked(scope->where, WHERE_ALL, where) &&
                (!shared || where == WHERE_SMT || where == WHERE_TURNS))
                add_counts(cells, (struct thrash_cell){victim, kind, where, 0}, scope->most);
}

/* Returns WHERES, which no cell has, if the machine has one core. */
static int nearest_other(const struct thrash_cells *cells)
{
    for (int where = WHERE_SAME_LLC; where < WHERE_TURNS; where++)
        if (cells->ncandidates[where])
            return where;
    return WHERES;
}

int thrash_cells_find(struct thrash_cells *cells, const struct bench_machine *machine,
                      const struct thrash_scope *scope, struct err *err)
{
    struct thrash_scope asked = *scope;
    *cells = (struct thrash_cells){.n = 0};
    for (unsigned where = 0; where < WHERES; where++) {
        cells->candidates[where] = calloc(machine->ncpus + 1, sizeof(*cells->candidates[where]));
        if (!cells->candidates[where])
            return err_set(err, -ENOMEM, "cannot allocate a list of %u CPUs", machine->ncpus);
    }
    find_candidates(cells, machine);
    if (asked.where == WHERE_OTHER)
        asked.where = nearest_other(cells);
    for (enum victim_kind victim = 0; victim < VICTIMS; victim++)
        if (is_asked(asked.victim, VICTIMS, victim) && victim_range(machine, victim).most)
            add_cells(cells, &asked, victim);
    return 0;
}

void thrash_cells_free(struct thrash_cells *cells)
{
    for (unsigned where = 0; where < WHERES; where++)
        free(cells->candidates[where]);
    *cells = (struct thrash_cells){.n = 0};
}

/* What the steps of the search need. */
struct search_args {
    struct fight *fight;
    struct aggressor *aggressor;
};

static double warm_load_ns(void *arg, uint64_t bytes)
{
    const struct search_args *search_args = arg;
    struct victim *victim = search_args->fight->victim;
    if (victim->bytes != bytes || !victim->done) {
        victim_resize(victim, bytes);
        (void)fight_lap_ns(search_args->fight);
    }
    return fight_lap_ns(search_args->fight) / (double)victim->lines;
}

static double cold_load_ns(void *arg)
{
    const struct search_args *search_args = arg;
    if (search_args->aggressor)
        aggressor_sum(search_args->aggressor);
    return fight_lap_ns(search_args->fight) / (double)search_args->fight->victim->lines;
}

void thrash_victim_measure(struct thrash_victim *v, struct fight *fight,
                           struct aggressor *aggressor, double lap_most_ns)
{
    struct search_args search_args = {fight, aggressor};
    fight->victim = &v->victim;
    v->alone_most_ns = INFINITY;
    if (!v->most_bytes) {
        v->cold_ns = cold_load_ns(&search_args) * (double)v->victim.lines;
        v->warm_ns = fight_lap_ns(fight);
        return;
    }
    struct effective_cache_size search = {.least = v->victim.bytes,
                                          .most = v->most_bytes,
                                          .lap_most_ns = lap_most_ns,
                                          .warm = warm_load_ns,
                                          .cold = cold_load_ns,
                                          .arg = &search_args};
    victim_resize(&v->victim, effective_cache_size_find(&search));
    v->warm_ns = search.warm_ns * (double)v->victim.lines;
    v->cold_ns = search.cold_ns * (double)v->victim.lines;
    v->alone_most_ns = search.limit_ns * (double)v->victim.lines / v->victim.chunks;
}

enum { TRIES = 8, LINE_BYTES = 64 };

/* If cold / warm is below this ratio, not even the first set fits. */
static const double cold_least = 1.5;

/* A set enters the cache over several laps, and laps may be disturbed: the fastest lap counts. */
static bool is_still_warm(struct effective_cache_size *search, uint64_t bytes)
{
    double ns = search->warm(search->arg, bytes);
    for (int i = 1; i < TRIES && ns > search->limit_ns; i++)
        ns = fmin(ns, search->warm(search->arg, bytes));
    if (ns <= search->limit_ns)
        search->warm_ns = ns;
    return ns <= search->limit_ns;
}

static bool is_quick(const struct effective_cache_size *search, uint64_t bytes)
{
    return (double)bytes * search->cold_ns / LINE_BYTES <= search->lap_most_ns;
}

uint64_t effective_cache_size_find(struct effective_cache_size *search)
{
    uint64_t bytes = search->least;
    search->limit_ns = INFINITY;
    (void)is_still_warm(search, bytes);
    search->cold_ns = fmax(search->cold(search->arg), search->warm_ns);
    if (search->cold_ns < cold_least * search->warm_ns) {
        search->limit_ns = 0;
        return bytes;
    }
    search->limit_ns = sqrt(search->warm_ns * search->cold_ns);
    bool half = false; /* bytes is 1.5 x a power of two x least */
    for (uint64_t next; bytes < search->most; bytes = next, half = !half) {
        next = half ? bytes / 3 * 4 : bytes / 2 * 3;
        next = next < search->most ? next : search->most;
        if (!is_quick(search, next) || !is_still_warm(search, next))
            break;
    }
    return bytes;
}

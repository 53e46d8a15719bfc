#include "bench/cpu/thrash_values.h"

#include <math.h>

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

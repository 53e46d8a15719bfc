/*
 * The values of a cell of cache_thrash, from its pairs of slices. cache_thrash.c defines them.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_VALUES_H
#define CONTEND_BENCH_CPU_THRASH_VALUES_H

#include <stdint.h>

#include "bench/cpu/thrash_fight.h"
#include "harness/engine/contract/bench.h"

/*
 * The cells of cache_thrash: victim, kind of aggressor, place and number of aggressors. Pure.
 *
 *   where   smt: the victim's core; same-llc, other-llc: cores of its NUMA node that share, or do
 *           not share, its last-level cache; other-node: cores of other NUMA nodes; turns: the
 *           victim's own CPU, in turns. Places that the machine lacks are left out.
 *   n       1, 2, 4, .. and all CPUs of that place
 *
 * With all victims and all places, a victim in an L1 or L2 meets only aggressors that share that
 * cache (smt and turns).
 */
enum where {
    WHERE_SMT,
    WHERE_SAME_LLC,
    WHERE_OTHER_LLC,
    WHERE_OTHER_NODE,
    WHERE_TURNS,
    WHERES,
    WHERE_OTHER = WHERES, /* the nearest other cores */
    WHERE_ALL
};

/* "smt", "same-llc", "other-llc", "other-node", "turns", then "other", "all", NULL for options. */
extern const char *const where_names[];

/* What is asked for. */
struct thrash_scope {
    int victim, aggressor, where; /* VICTIMS, AGGRESSOR_KINDS, WHERE_ALL: all of them */
    unsigned most;                /* aggressors at once; 0: no limit */
};

struct thrash_cell {
    enum victim_kind victim;
    enum aggressor_kind kind;
    enum where where;
    unsigned n; /* aggressors: the first n of candidates[where] */
};

enum { THRASH_CELLS_MAX = 128 };

/* Zeroed = none. */
struct thrash_cells {
    /*
     * Candidates are the CPUs of aggressors: indices of the machine's CPUs without CPU 0, the
     * victim's. One per core, but all siblings of CPU 0. In WHERE_TURNS, the index ncpus means a
     * second thread on CPU 0.
     */
    unsigned ncandidates[WHERES], *candidates[WHERES];
    struct thrash_cell cell[THRASH_CELLS_MAX];
    unsigned n, most; /* most: aggressors at once, in any cell */
};

/* Finds the cells of victims whose cache is reported. -ENOMEM only. Free also after an error. */
int thrash_cells_find(struct thrash_cells *cells, const struct bench_machine *machine,
                      const struct thrash_scope *scope, struct err *err);
void thrash_cells_free(struct thrash_cells *cells);

/*
 * The victims of cache_thrash without aggressors: the size of victim l3, and how long a lap takes
 * from the cache and from memory.
 */

/* Zeroed = no cell has this victim. */
struct thrash_victim {
    struct victim victim;
    uint64_t most_bytes;     /* limit of the search for its size; 0: the size is fixed */
    double warm_ns, cold_ns; /* about the time of a lap from its cache and from memory */
    double alone_most_ns;    /* a chunk that takes longer does not come from the cache */
};

/*
 * Call it in the victim's thread while all other threads sleep. Reading the area of `aggressor` (or
 * NULL), which is twice the cache, evicts the victim. No lap of the search takes longer than
 * lap_most_ns.
 */
void thrash_victim_measure(struct thrash_victim *victim, struct fight *fight,
                           struct aggressor *aggressor, double lap_most_ns);

enum {
    THRASH_TIME,
    THRASH_ALONE,
    THRASH_SLOWDOWN,
    THRASH_COLD,
    THRASH_RATE,
    THRASH_BROUGHT,
    THRASH_WARM,
    THRASH_ACCESS,
    THRASH_REFILL, /* from here on: of cells in turns */
    THRASH_SWITCH,
    THRASH_ACCESS_FIRST,
    THRASH_ACCESS_WARM,
    THRASH_TURN,
    THRASH_VALUES
};

/*
 * Medians over the pairs in which the victim was warm without aggressors. If it was warm in none:
 * medians over all pairs, and THRASH_SWITCH, THRASH_ACCESS_FIRST and THRASH_ACCESS_WARM are NaN.
 * NaN: the cell has no such value.
 */
void thrash_sum_up(const struct fight *fight, const struct thrash_cell *cell,
                   const struct thrash_victim *victim, double value[static THRASH_VALUES]);

/* Why the cell has no slowdown, or in turns no refill or access_warm; NULL if it has, and for other
 * values. */
const char *thrash_why_absent(const struct thrash_cell *cell, unsigned which,
                              const double value[static THRASH_VALUES]);

/* The doubt about the refill if most turns end before the victim is warm; else "". */
const char *thrash_why_doubted(const struct fight *fight);

/*
 * The effective size of a cache: the largest working set that, walked again and again, still runs
 * at the speed of the cache. The reported size may be the host's, shared with other guests.
 */
struct effective_cache_size {
    uint64_t least, most; /* bytes */
    double lap_most_ns;   /* limit of a lap from memory, at the cold speed of the first set */
    /* ns a load: of a set walked before, and of the set walked last after its eviction. */
    double (*warm)(void *arg, uint64_t bytes);
    double (*cold)(void *arg);
    void *arg;
    /* Results, ns a load: warm of the returned set, cold of the first set, and the limit between
     * warm and cold (0: not even the first set fits). */
    double warm_ns, cold_ns, limit_ns;
};

/*
 * Returns bytes: at least `least`, even if that does not fit. Tries steps of 1.5 and 1.33 up to
 * `most`. Stops when a load takes longer than the geometric mean of the first set's warm and cold
 * loads, or a lap from memory longer than lap_most_ns.
 */
uint64_t effective_cache_size_find(struct effective_cache_size *search);

#endif

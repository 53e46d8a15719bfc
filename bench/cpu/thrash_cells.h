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
#ifndef CONTEND_BENCH_CPU_THRASH_CELLS_H
#define CONTEND_BENCH_CPU_THRASH_CELLS_H

#include "bench/cpu/aggressor.h"
#include "bench/cpu/victim.h"
#include "harness/engine/contract/bench.h"

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

#endif

/*
 * The cells of cache_thrash: victims, kinds of aggressors, places, and how many of them. Pure.
 *
 *   where   smt: the victim's core; same-llc, other-llc: cores that share, or not, its last cache,
 *           on its node; other-node: cores of other nodes; turns: the victim's own CPU, by turns.
 *           Places that are missing are left out.
 *   n       1, 2, 4, .. and all of that place
 *
 * Where everything is asked for, victims in an L1 or L2 meet those aggressors alone who share it.
 */
#ifndef CONTEND_BENCH_CPU_THRASH_CELLS_H
#define CONTEND_BENCH_CPU_THRASH_CELLS_H

#include "bench/cpu/aggressor.h"
#include "bench/cpu/victim.h"
#include "harness/contract/bench.h"

enum where {
    WHERE_SMT,
    WHERE_SAME_LLC,
    WHERE_OTHER_LLC,
    WHERE_OTHER_NODE,
    WHERE_TURNS,
    WHERES,
    WHERE_OTHER = WHERES, /* the nearest of other cores */
    WHERE_ALL
};

/* "smt", "same-llc", "other-llc", "other-node", "turns", then "other", "all", NULL for options. */
extern const char *const where_names[];

/* What is asked for. */
struct thrash_scope {
    int victim, aggressor, where; /* VICTIMS, AGGRESSOR_KINDS, WHERE_ALL: all of them */
    unsigned most;                /* aggressors at once; 0: as many as there are */
};

struct thrash_cell {
    enum victim_kind victim;
    enum aggressor_kind kind;
    enum where where;
    unsigned n; /* aggressors: the first n of players[where] */
};

enum { THRASH_CELLS_MAX = 128 };

/* Zeroed = none. */
struct thrash_cells {
    /*
     * CPUs of the machine, by index, but for the victim's, which is the first: one a core. The
     * number of CPUs stands for a second thread on the victim's.
     */
    unsigned nplayers[WHERES], *players[WHERES];
    struct thrash_cell cell[THRASH_CELLS_MAX];
    unsigned n, most; /* most: aggressors at once, in any cell */
};

/* Cells of victims whose cache is reported. -ENOMEM only. Free also after an error. */
int thrash_cells_find(struct thrash_cells *cells, const struct bench_machine *machine,
                      const struct thrash_scope *scope, struct err *err);
void thrash_cells_free(struct thrash_cells *cells);

#endif

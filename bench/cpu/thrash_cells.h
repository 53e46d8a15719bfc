/*
 * The cells of cache_thrash: kinds of aggressors, places, and how many of them. Pure.
 *
 *   where   smt: the victim's core; same-llc, other-llc: cores that share, or not, its last cache,
 *           on its node; other-node: cores of other nodes. Places that are missing are left out.
 *   n       1, 2, 4, .. and all of that place
 */
#ifndef CONTEND_BENCH_CPU_THRASH_CELLS_H
#define CONTEND_BENCH_CPU_THRASH_CELLS_H

#include "bench/cpu/aggressor.h"
#include "harness/contract/bench.h"

enum where { WHERE_SMT, WHERE_SAME_LLC, WHERE_OTHER_LLC, WHERE_OTHER_NODE, WHERES };

/* "smt", "same-llc", "other-llc", "other-node". */
extern const char *const where_names[];

struct thrash_cell {
    enum aggressor_kind kind;
    enum where where;
    unsigned n; /* aggressors: the first n of players[where] */
};

enum { THRASH_CELLS_MAX = 128 };

/* Zeroed = none. */
struct thrash_cells {
    /* CPUs of the machine, by index, but for the victim's, which is the first: one a core. */
    unsigned nplayers[WHERES], *players[WHERES];
    struct thrash_cell cell[THRASH_CELLS_MAX];
    unsigned n, most; /* most: aggressors at once, in any cell */
};

/*
 * Cells of one kind, or of all with AGGRESSOR_KINDS; at most `most` aggressors at once, 0: as many
 * as there are. -ENOMEM only. Free also after an error.
 */
int thrash_cells_find(struct thrash_cells *cells, const struct bench_machine *machine,
                      enum aggressor_kind kind, unsigned most, struct err *err);
void thrash_cells_free(struct thrash_cells *cells);

#endif

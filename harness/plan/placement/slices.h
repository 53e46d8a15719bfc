/*
 * Slices for placements: ordered units of CPUs, and the ways to deal them to workers. A unit
 * is never split; a policy is a choice of unit, of order and of deal. Only policy.c and plan.c
 * use this.
 */
#ifndef CONTEND_PLAN_PLACEMENT_SLICES_H
#define CONTEND_PLAN_PLACEMENT_SLICES_H

#include "harness/plan/placement/plan.h"

enum unit_kind {
    UNIT_CPU,    /* one logical CPU; in os_cpu order, as people write CPU lists */
    UNIT_CORE,   /* all available SMT siblings of a core; in the topology's order */
    UNIT_THREAD, /* the first available sibling of a core */
    UNIT_LLC     /* the available CPUs of one last-level cache */
};

struct unit {
    unsigned first, ncpus; /* its CPUs are units.os_cpu[first .. first + ncpus) */
    int llc, package;      /* of its first CPU, as are the next two */
    int node;
    int kind;
};

struct units {
    unsigned n;
    struct unit *unit;
    unsigned *os_cpu; /* owned, one allocation for all units */
};

/* Cuts the available CPUs into units. Free with units_free, also after an error (-ENOMEM). */
int units_make(const struct topo *topo, const struct bitset *available, enum unit_kind kind,
               struct units *units, struct err *err);
void units_free(struct units *units);

/* Gives one unit to a worker. */
void units_give(const struct units *units, unsigned unit, struct plan_worker *worker);

/*
 * Deals `count` units from `first` on to workers in order, neighbours together; shares differ by
 * at most one unit, the larger ones first. Needs count >= nworkers for none to go empty.
 */
void units_deal_blocks(const struct units *units, unsigned first, unsigned count,
                       struct plan_worker *const *workers, unsigned nworkers);

/* Deals unit after unit to worker after worker, as cards: neighbours go to different workers. */
void units_deal_cards(const struct units *units, struct plan_worker *workers, unsigned nworkers);

/* Part of a machine that hosts some of the workers: a node, or a cache. */
struct group {
    int key;               /* index of the node or cache */
    int node;              /* of its first CPU */
    unsigned first, count; /* its units */
    unsigned workers;      /* how many it hosts */
    unsigned vacant;       /* of these, homes not yet given out */
    unsigned wanted;       /* workers without a home so far that want its node */
    unsigned lends;        /* workers of other nodes that have its memory */
};

/*
 * Sorts the units by node (or by llc) and finds the groups; units with key -1 belong to none.
 * Returns how many groups, written to a new array *groups that the caller frees, or -ENOMEM.
 */
int units_group(struct units *units, bool by_node, struct group **groups, struct err *err);

/*
 * Finds homes for further workers: empty groups first, of these those of nodes that are wanted,
 * then where the share will be largest, so that no group is idle while another is shared, and
 * unequal ones are filled in proportion. A worker gets a home of the node wanted[w] where there is
 * one left (wanted or one of it may be NULL or -1); the others are given out in turn: home[w] =
 * index of w's group. Needs a unit for each worker, those already there too.
 */
void groups_fill(struct group *groups, unsigned ngroups, unsigned nworkers, const int *wanted,
                 unsigned *home);

/* Deals the units of each group to the workers whose home it is, in blocks. -ENOMEM only. */
int groups_deal(const struct units *units, const struct group *groups, unsigned ngroups,
                const unsigned *home, struct plan *plan, struct err *err);

#endif

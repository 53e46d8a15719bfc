/*
 * Slices for placements: ordered units of CPUs, and the ways to distribute them to workers.
 * A unit is never split. A policy chooses the kind of unit, the order and the way to distribute.
 * Only the policy files use this.
 */
#ifndef CONTEND_PLAN_SLICES_H
#define CONTEND_PLAN_SLICES_H

#include "harness/plan/plan.h"

enum unit_kind {
    UNIT_CPU,    /* one logical CPU; in os_cpu order, as people write CPU lists */
    UNIT_CORE,   /* all available SMT siblings of a core; in the topology's order */
    UNIT_THREAD, /* the first available sibling of a core */
    UNIT_LLC     /* the available CPUs of one last-level cache */
};

struct unit {
    unsigned first, ncpus; /* its CPUs are units.os_cpu[first .. first + ncpus) */
    int llc, package;      /* these and the next two: of its first CPU */
    int node;              /* its own, with memory or without; -1 = unknown */
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
 * Assigns `count` units from `first` on to workers in order; neighbours stay together. Shares
 * differ by at most one unit, the larger first. With count < nworkers some workers get no unit.
 */
void units_assign_blocks(const struct units *units, unsigned first, unsigned count,
                         struct plan_worker *const *workers, unsigned nworkers);

/* Assigns units round-robin: neighbouring units go to different workers. */
void units_assign_round_robin(const struct units *units, struct plan_worker *workers,
                              unsigned nworkers);

/* Part of a machine that hosts some of the workers: a node, or a cache. */
struct group {
    int key;               /* index of the node or cache */
    int node;              /* of its first CPU */
    unsigned first, count; /* its units */
    unsigned workers;      /* how many it hosts */
    unsigned vacant;       /* of `workers`, places not yet assigned to a worker */
    unsigned wanted;       /* workers not yet placed that want its node */
    bool far_memory;       /* its node has no memory to use: filled last */
    unsigned remote_users; /* workers of other nodes that use its memory */
};

/*
 * Sorts the units by node (by_node), or takes them by llc, and finds the groups; units with key -1
 * belong to no group. Returns the number of groups, or -ENOMEM. The caller frees *groups.
 */
int units_group(struct units *units, bool by_node, struct group **groups, struct err *err);

/*
 * Assigns each of nworkers further workers a group, its home: home[w] = index of the group. Fills
 * empty groups first, beginning with groups that have memory, and of wanted nodes; then the group
 * where the share will be largest. So no group is idle while another is shared, and unequal groups
 * are filled in proportion. Worker w gets a place on node wanted[w] while one is left; other places
 * are assigned round-robin. `wanted` may be NULL, wanted[w] = -1 means any node. Needs a unit for
 * each worker, including workers already in the groups.
 */
void groups_fill(struct group *groups, unsigned ngroups, unsigned nworkers, const int *wanted,
                 unsigned *home);

/* Assigns the units of each group in blocks to the workers whose home it is. Only -ENOMEM. */
int groups_assign(const struct units *units, const struct group *groups, unsigned ngroups,
                  const unsigned *home, struct plan *plan, struct err *err);

/* The CPUs that a plan may use, and queries about them. Only plan.c and the policy files use it. */
struct plan_space {
    const struct topo *topo;
    const struct plan_request *request;
    struct bitset available; /* allowed, requested, not reserved; never empty */
    unsigned ncpus;          /* how many of them */
};

/* How many cores have a usable CPU. */
unsigned space_count_cores(const struct plan_space *space);

/* The usable CPUs under a last-level cache: all except cores outside these caches. */
struct bitset space_llc_cpus(const struct plan_space *space);

/* True when the CPUs of space_llc_cpus share one last-level cache. */
bool space_has_one_llc(const struct plan_space *space);

/* True when all usable CPUs are of one kind, in one last-level cache and near one node. */
bool space_is_uniform(const struct plan_space *space);

/* True when `partition` never divides a core between workers; false also if it has no plan. */
bool space_partition_keeps_cores(const struct plan_space *space);

/* True when `partition` gives every worker the same CPUs as the plan. */
bool space_partition_equals(const struct plan_space *space, const struct plan *plan);

#endif

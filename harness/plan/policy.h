/*
 * The placements' rules, one table row each. Only plan.c uses the table: it prepares the space and
 * the empty plan, calls the row, then fills in threads and memory that the row did not set.
 */
#ifndef CONTEND_PLAN_POLICY_H
#define CONTEND_PLAN_POLICY_H

#include "harness/plan/plan.h"
#include "harness/plan/slices.h"

struct policy {
    /* Writes plan->reason if the machine cannot express the placement; NULL = it always can. */
    void (*why_not)(const struct plan_space *space, struct plan *plan);
    /*
     * Fills the CPUs of every worker, and memory, GPU or threads if the placement sets its own.
     * On entry workers are zeroed except for `background` and the default `gpu`.
     */
    int (*place)(const struct plan_space *space, struct plan *plan, struct err *err);
};

/* Indexed by enum placement. */
extern const struct policy plan_policies[PLACEMENTS];

/* Shared by the rules. */

/* Writes plan->reason. */
__attribute__((format(printf, 2, 3))) void policy_refuse(struct plan *plan, const char *fmt, ...);

/* -ENOSPC if there are fewer units than workers: disjoint slices need one unit each. */
int policy_check_room(const struct plan *plan, unsigned workers, unsigned have, const char *unit,
                      struct err *err);

/* The node near each worker's GPU (an index), -1 = unknown or no GPU; free *nodes. -ENOMEM. */
int policy_near_nodes(const struct plan_space *space, const struct plan *plan, int **nodes,
                      struct err *err);

/* Rows of policy_numa.c. */
void policy_why_not_numa(const struct plan_space *space, struct plan *plan);
int policy_place_numa(const struct plan_space *space, struct plan *plan, struct err *err);
void policy_why_not_gpu_local(const struct plan_space *space, struct plan *plan);
int policy_place_gpu_local(const struct plan_space *space, struct plan *plan, struct err *err);
int policy_place_remote(const struct plan_space *space, struct plan *plan, struct err *err);

/* Distance between two nodes, given by index; 0 if the machine reports no distances. */
unsigned policy_distance(const struct topo *topo, int from, int to);

/* Row of policy_package.c. */
void policy_why_not_package_local(const struct plan_space *space, struct plan *plan);
int policy_place_package_local(const struct plan_space *space, struct plan *plan, struct err *err);

#endif

/*
 * The placements' rules, one table row each. Only plan.c uses this: it prepares the space and the
 * empty plan, calls the row, then fills in threads and memory where the row left them open.
 */
#ifndef CONTEND_PLAN_PLACEMENT_POLICY_H
#define CONTEND_PLAN_PLACEMENT_POLICY_H

#include "harness/plan/placement/plan.h"
#include "harness/plan/placement/space.h"

struct policy {
    /* Writes plan->reason when the machine cannot express this placement; NULL = it always can. */
    void (*why_not)(const struct plan_space *space, struct plan *plan);
    /*
     * Fills the CPUs of every worker, and memory, GPU or threads where the placement has its own.
     * On entry workers are zeroed but for `background` and the default `gpu`.
     */
    int (*place)(const struct plan_space *space, struct plan *plan, struct err *err);
};

/* Indexed by enum placement. */
extern const struct policy plan_policies[PLACEMENTS];

/* Shared by the rules. */

/* Writes plan->reason. */
__attribute__((format(printf, 2, 3))) void policy_refuse(struct plan *plan, const char *fmt, ...);

/* Disjoint slices need a unit for each worker. -ENOSPC. */
int policy_check_room(const struct plan *plan, unsigned workers, unsigned have, const char *unit,
                      struct err *err);

/* Near which node each worker's GPU is, -1 = unknown, or none; the caller frees it. -ENOMEM. */
int policy_near_nodes(const struct plan_space *space, const struct plan *plan, int **nodes,
                      struct err *err);

/* Rows of policy_numa.c. */
void policy_why_not_numa(const struct plan_space *space, struct plan *plan);
int policy_place_numa(const struct plan_space *space, struct plan *plan, struct err *err);
void policy_why_not_gpu_local(const struct plan_space *space, struct plan *plan);
int policy_place_gpu_local(const struct plan_space *space, struct plan *plan, struct err *err);
int policy_place_remote(const struct plan_space *space, struct plan *plan, struct err *err);

/* 0 where the machine has none. */
unsigned policy_distance(const struct topo *topo, int from, int to);

/* Row of policy_package.c. */
void policy_why_not_package_local(const struct plan_space *space, struct plan *plan);
int policy_place_package_local(const struct plan_space *space, struct plan *plan, struct err *err);

#endif

/*
 * The placements' rules, one table row each. Only plan.c uses this: it prepares the space and the
 * empty plan, calls the row, then fills in threads and memory where the row left them open.
 */
#ifndef CONTEND_PLAN_POLICY_H
#define CONTEND_PLAN_POLICY_H

#include "harness/plan/plan.h"
#include "harness/plan/space.h"

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

#endif

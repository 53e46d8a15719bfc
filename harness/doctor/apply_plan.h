/*
 * Finds the workers among the processes of a view, and plans CPUs for them. Pure, except for what
 * plan_make needs and the mask that this process was started with.
 */
#ifndef CONTEND_DOCTOR_APPLY_PLAN_H
#define CONTEND_DOCTOR_APPLY_PLAN_H

#include "harness/doctor/reader/view.h"
#include "harness/plan/plan.h"

/* Writes the leads to leads[view->nprocesses] and returns their number. A lead is a busy process
 * that is not a helper of another busy one (view_lead). */
size_t apply_find_leads(const struct view *view, const struct view_process **leads);

/* The index of the lead that is the process or an ancestor of it; `n` = none. The process need not
 * be busy: one that waits now may work later. */
size_t apply_worker_of(const struct view *view, const struct view_process *process,
                       const struct view_process *const *leads, size_t n);

/* -EINVAL for an unknown placement, and for one that binds nothing. */
int apply_parse_placement(const char *name, enum placement *placement, struct err *err);

/*
 * Plans one slice of CPUs for each lead. Sorts `leads` by the GPUs that they use, in topology
 * order, because slices are assigned in that order. -EINVAL: the placement binds nothing, is not
 * possible here, or no CPU is allowed to all leads. Free the plan, also after an error.
 */
int apply_plan(const struct view *view, const struct topo *topo, const struct view_process **leads,
               size_t n, const char *placement, struct plan *plan, struct err *err);

#endif

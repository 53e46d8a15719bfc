/*
 * Which processes of a view are workers, and the plan that deals CPUs to them. Pure, but for what
 * plan_make needs and the mask that this process was started with.
 */
#ifndef CONTEND_DOCTOR_APPLY_APPLY_PLAN_H
#define CONTEND_DOCTOR_APPLY_APPLY_PLAN_H

#include "harness/doctor/view/view.h"
#include "harness/plan/placement/plan.h"

/* Busy processes, without those that are the helpers of one, into leads[view->nprocesses]. */
size_t apply_find_leads(const struct view *view, const struct view_process **leads);

/* The worker that it is, or is below; `n` = none. A process that waits now may work later. */
size_t apply_worker_of(const struct view *view, const struct view_process *process,
                       const struct view_process *const *leads, size_t n);

/*
 * One slice for each; the leads are sorted by the GPUs that they use, in order of the topology, as
 * slices are dealt. -EINVAL: that placement binds nothing, cannot be had here, or no CPU is allowed
 * to all of them. Free the plan, also after an error.
 */
int apply_plan(const struct view *view, const struct topo *topo, const struct view_process **leads,
               size_t n, const char *placement, struct plan *plan, struct err *err);

#endif

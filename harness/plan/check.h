/* What a plan does to its workers that its placement does not promise, as findings. */
#ifndef CONTEND_PLAN_CHECK_H
#define CONTEND_PLAN_CHECK_H

#include "harness/core/finding.h"
#include "harness/plan/plan.h"

/*
 * Adds one finding of each kind at most, about all workers that it holds for:
 * worker_over_packages, and cores_divided where a placement of disjoint slices gives threads of one
 * core to several workers. Unpinned placements have none, nor do plans over several hosts.
 * -ENOMEM only.
 */
int plan_check(const struct topo *topo, const struct plan *plan, struct findings *findings,
               struct err *err);

#endif

/* Effects of a plan on its workers that its placement does not promise, as findings. */
#ifndef CONTEND_PLAN_PLACEMENT_CHECK_H
#define CONTEND_PLAN_PLACEMENT_CHECK_H

#include "harness/contract/finding.h"
#include "harness/plan/placement/plan.h"

/*
 * Adds one finding of each kind at most, about all workers that it holds for: cpu_quota,
 * team_kinds (a team over unlike cores), and where workers are pinned worker_over_packages,
 * worker_over_nodes of one package (but for `package-local`), gpu_far (but for `remote`), and where
 * a placement deals disjoint slices, cores_divided (threads of one core have several workers) and
 * cpus_left (in no slice). Advice names a placement that this machine
 * can express. With any placement worker_isolated, and where workers are pinned worker_no_memory
 * and worker_some_no_memory. Plans over several hosts have none. -ENOMEM only.
 */
int plan_check(const struct topo *topo, const struct plan *plan, struct findings *findings,
               struct err *err);

#endif

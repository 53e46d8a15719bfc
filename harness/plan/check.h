/* Finds effects of a plan on its workers that its placement does not promise. */
#ifndef CONTEND_PLAN_CHECK_H
#define CONTEND_PLAN_CHECK_H

#include "harness/lib/finding.h"
#include "harness/plan/plan.h"

/*
 * Adds at most one finding of each kind, about all workers that it concerns:
 * - any placement: cpu_quota, team_kinds (a team on unlike cores), workers_unlike (workers with
 *   slower cores than others), worker_isolated;
 * - pinned workers: worker_no_memory, worker_some_no_memory, worker_over_packages,
 *   worker_over_nodes (of one package; not for `package-local`), gpu_far (not for `remote`);
 * - disjoint slices: cores_divided (several workers on one core), cpus_left (CPUs in no slice).
 * Advice names only placements that this machine can express. Plans over several hosts get no
 * findings.
 */
void plan_check(const struct topo *topo, const struct plan *plan, struct findings *findings);

#endif

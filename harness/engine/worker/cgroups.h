/*
 * Workers in cgroups (lib/sys/groups.h): cpusets in place of masks (--bind cgroup), and quotas of
 * CPU time (--cpu-max, --dose throttle).
 */
#ifndef CONTEND_ENGINE_WORKER_CGROUPS_H
#define CONTEND_ENGINE_WORKER_CGROUPS_H

#include <stdbool.h>

#include "harness/lib/sys/groups.h"
#include "harness/plan/placement/plan.h"

/* Zeroed = none are asked for. */
struct cgroups {
    bool cpuset; /* asked for: a cpuset for each worker */
    bool quota;  /* asked for: a quota of CPU time for workers of some arms */
    struct groups groups;
    double throttled, throttled_s; /* how often, and how long, the quota stopped workers */
    struct err err;                /* why there is none, of each worker that asks for it */
};

/*
 * Makes ours, after removing those of runs that are gone. Where that cannot be, no permission, a
 * cpuset of version 1, a cgroup with processes or limits of its own, cgroups->err says why, and
 * cgroups_join refuses each worker for that reason. Close with cgroups_close, which says what
 * quotas have cost.
 */
void cgroups_open(struct cgroups *cgroups);
void cgroups_close(struct cgroups *cgroups);

/*
 * The calling process, a worker between fork and exec, goes into its own: CPUs, memory of a policy
 * that binds, and the time of `cpu_max` CPUs, 0 = no quota; read back from the cgroup and from its
 * own mask. Without cpuset and quota it stays where it is. -errno with the reason.
 */
int cgroups_join(const struct cgroups *cgroups, unsigned index, const struct plan_worker *plan,
                 double cpu_max, struct err *err);

/* Removes the cgroups of `n` workers that are gone, and notes what quotas have kept from them. */
void cgroups_clear(struct cgroups *cgroups, unsigned n);

#endif

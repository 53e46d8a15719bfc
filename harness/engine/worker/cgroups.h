/*
 * Workers in cgroups of version 2 (lib/sys/groups.h): cpusets in place of masks (--bind cgroup),
 * and a quota of CPU time (--cpu-max).
 */
#ifndef CONTEND_ENGINE_WORKER_CGROUPS_H
#define CONTEND_ENGINE_WORKER_CGROUPS_H

#include <stdbool.h>

#include "harness/lib/sys/groups.h"
#include "harness/plan/placement/plan.h"

/* Zeroed = none are asked for. */
struct cgroups {
    bool cpuset;    /* asked for: a cpuset for each worker */
    double cpu_max; /* asked for: the CPUs whose time each worker gets; 0 = no quota */
    struct groups groups;
    double throttled, throttled_s; /* how often, and how long, the quota stopped workers */
    struct err err;                /* why there is none, of each worker that asks for it */
};

/* True where something is asked for. */
bool cgroups_wanted(const struct cgroups *cgroups);

/*
 * Makes ours, after removing those of runs that are gone. Where that cannot be, version 1, no
 * permission, a cgroup with processes or limits of its own, cgroups->err says why, and
 * cgroups_join refuses each worker for that reason. Close with cgroups_close, which says what a
 * quota has cost.
 */
void cgroups_open(struct cgroups *cgroups);
void cgroups_close(struct cgroups *cgroups);

/*
 * The calling process, a worker between fork and exec, goes into its own: CPUs, memory of a policy
 * that binds, and quota, read back from the cpuset and from its own mask. -errno with the reason.
 */
int cgroups_join(const struct cgroups *cgroups, unsigned index, const struct plan_worker *plan,
                 struct err *err);

/* Removes the cgroups of `n` workers that are gone, and notes what their quota has kept from them.
 */
void cgroups_clear(struct cgroups *cgroups, unsigned n);

#endif

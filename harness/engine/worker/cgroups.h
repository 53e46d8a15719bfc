/*
 * Workers in cgroups (lib/sys/groups.h): cpusets in place of masks (--bind cgroup), and quotas of
 * CPU time (--cpu-max, --dose throttle).
 */
#ifndef CONTEND_ENGINE_WORKER_CGROUPS_H
#define CONTEND_ENGINE_WORKER_CGROUPS_H

#include <stdbool.h>

#include "harness/lib/sys/groups.h"
#include "harness/plan/plan.h"

/* Zeroed = no cgroups are requested. */
struct cgroups {
    bool cpuset; /* requested: a cpuset for each worker */
    bool quota;  /* requested: a quota of CPU time for workers of some arms */
    struct groups groups;
    double throttled, throttled_s; /* how often, and how long, the quota stopped workers */
    struct err err; /* why cgroups cannot be used: the error of each worker that needs one */
};

/*
 * Makes our cgroup, after removing those of runs that are gone. If that fails (no permission, a
 * cpuset of cgroup v1, a cgroup with processes or limits of its own), cgroups->err says why, and
 * cgroups_join refuses each worker for that reason. Close with cgroups_close, which logs how long
 * quotas stopped workers.
 */
void cgroups_open(struct cgroups *cgroups);
void cgroups_close(struct cgroups *cgroups);

/*
 * Moves the calling process, a worker between fork and exec, into its own cgroup. This has its
 * CPUs, its memory nodes if their policy is bind, and a quota of `cpu_max` CPUs (0 = none). CPUs
 * are read back from the cgroup and the process's mask. Without cpuset and quota the process stays
 * where it is. -errno with the reason.
 */
int cgroups_join(const struct cgroups *cgroups, unsigned index, const struct plan_worker *plan,
                 double cpu_max, struct err *err);

/* Removes the cgroups of `n` workers that have ended, and adds up how long quotas stopped them. */
void cgroups_clear(struct cgroups *cgroups, unsigned n);

#endif

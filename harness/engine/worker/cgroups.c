#include "harness/engine/worker/cgroups.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "harness/lib/sys/affinity.h"
#include "harness/lib/sys/cgroup.h"
#include "harness/lib/sys/log.h"
#include "harness/lib/units.h"

void cgroups_open(struct cgroups *cgroups)
{
    struct groups *groups = &cgroups->groups;
    if (groups_open(groups, &cgroups->err))
        return;
    int rc = cgroups->cpuset ? groups_enable(groups, "cpuset", &cgroups->err) : 0;
    if (!rc && cgroups->quota)
        rc = groups_enable(groups, "cpu", &cgroups->err);
    if (rc)
        groups_close(groups);
}

void cgroups_close(struct cgroups *cgroups)
{
    groups_close(&cgroups->groups);
    if (cgroups->throttled > 0)
        log_info("CPU quotas stopped workers %.0f times, for %s s of their time in all",
                 cgroups->throttled, units_plain(cgroups->throttled_s, 3));
}

static int set_cpuset(const char *dir, const struct plan_worker *plan, struct err *err)
{
    char got[BITSET_BITS * 5]; /* the longest list */
    const char *list = bitset_format(&plan->cpus);
    int rc = groups_set(dir, "cpuset.cpus", list, err);
    if (!rc &&
        (!groups_get(dir, "cpuset.cpus.effective", got, sizeof(got)) || strcmp(list, got) != 0))
        rc =
            err_set(err, -EINVAL, "cgroup: CPUs %.80s were asked for, and it has %.80s", list, got);
    if (!rc && plan->mem_policy == MEM_BIND)
        rc = groups_set(dir, "cpuset.mems", bitset_format(&plan->mem_nodes), err);
    return rc;
}

static int check_mask(const struct plan_worker *plan, struct err *err)
{
    struct bitset mask;
    int rc = affinity_get(0, &mask);
    if (rc)
        return err_sys(err, rc, "the mask cannot be read back");
    if (bitset_equal(&mask, &plan->cpus))
        return 0;
    return err_set(err, -EINVAL, "its cpuset is CPUs %s, and its mask %s",
                   bitset_format(&plan->cpus), bitset_format(&mask));
}

int cgroups_join(const struct cgroups *cgroups, unsigned index, const struct plan_worker *plan,
                 double cpu_max, struct err *err)
{
    char dir[GROUPS_PATH_MAX];
    if (!cgroups->cpuset && !(cpu_max > 0))
        return 0;
    if (cgroups->err.code)
        return err_set(err, cgroups->err.code, "%s", cgroups->err.msg);
    int rc = groups_make(&cgroups->groups, index, dir, sizeof(dir), err);
    if (!rc && cgroups->cpuset)
        rc = set_cpuset(dir, plan, err);
    if (!rc && cpu_max > 0)
        rc = groups_set_quota(dir, cpu_max, GROUPS_PERIOD_US, err);
    if (!rc)
        rc = groups_set(dir, "cgroup.procs", "0", err);
    return !rc && cgroups->cpuset ? check_mask(plan, err) : rc;
}

/* Adds how often, and how long, the quota stopped one worker. */
static void add_throttled(struct cgroups *cgroups, const char *dir)
{
    struct cgroup_counts counts = cgroup_read_counts("", dir);
    cgroups->throttled += isnan(counts.throttled_periods) ? 0 : counts.throttled_periods;
    cgroups->throttled_s += isnan(counts.throttled_s) ? 0 : counts.throttled_s;
}

void cgroups_clear(struct cgroups *cgroups, unsigned n)
{
    char dir[GROUPS_PATH_MAX];
    for (unsigned i = 0; cgroups->groups.dir[0] && i < n; i++) {
        if (groups_make(&cgroups->groups, i, dir, sizeof(dir), NULL))
            continue;
        if (cgroups->quota)
            add_throttled(cgroups, dir);
        (void)groups_remove(dir);
    }
}

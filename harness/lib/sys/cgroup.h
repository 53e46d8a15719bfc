/*
 * Cgroups, as /proc and /sys/fs/cgroup show them; groups.h makes some. Version 2
 * (Documentation/admin-guide/cgroup-v2.rst), and version 1 (scheduler/sched-bwc.rst,
 * admin-guide/cgroup-v1/memory.rst) for the controllers that are in it. A limit applies to all
 * cgroups below. A container sees its own cgroup as the root.
 *
 * `root` as in lib/sys/proc.h. A `folder` is the path of a cgroup with its mount point, of either
 * version. NaN and "" = none, or unknown.
 */
#ifndef CONTEND_LIB_SYS_CGROUP_H
#define CONTEND_LIB_SYS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/sys/proc.h"

/*
 * Finds the path of a cgroup in the version 1 hierarchy of `controller`, or in version 2 if that is
 * "", in the text of a process's file "cgroup". False and "": no such hierarchy.
 */
bool cgroup_parse_path(const char *text, const char *controller, char *path, size_t size);
/* The same for a process, named as in /proc: "self", "4711". */
bool cgroup_find_path(const char *root, const char *process, const char *controller, char *path,
                      size_t size);

/* The quota of CPU time, in CPUs. */
double cgroup_read_quota(const char *root, const char *folder);
/*
 * The weight against the cgroups beside it: 1024 = default. The root of the machine competes with
 * nothing: version 2 has no weight there, version 1 has one that cannot be set.
 */
double cgroup_read_weight(const char *root, const char *folder);

/* Counters of the quota so far. throttled_s is summed over the CPUs that had runnable threads. */
struct cgroup_counts {
    double periods, throttled_periods, throttled_s;
};
struct cgroup_counts cgroup_read_counts(const char *root, const char *folder);

/* inactive_bytes: file pages that count as used, but that the kernel reclaims first. */
struct cgroup_memory {
    double limit_bytes, high_bytes, used_bytes, inactive_bytes;
};
struct cgroup_memory cgroup_read_memory(const char *root, const char *folder);

/* Limits of this process's cgroups, of both versions. */
struct cgroup_limits {
    char path[256];                /* cgroup version 2 only, as are cpu_max and cpuset */
    char cpu_max[PROC_TEXT_MAX];   /* the file's text: "QUOTA PERIOD" in us, or "max PERIOD" */
    double cpus_limit;             /* smallest quota / period of this cgroup and its ancestors */
    char cpuset[1024];             /* cpuset.cpus.effective */
    double memory_limit_bytes;     /* smallest limit of this cgroup and its ancestors */
    double memory_available_bytes; /* smallest limit minus use of this cgroup and its ancestors */
};
void cgroup_read(const char *root, struct cgroup_limits *cgroup);

/*
 * Time for which CPU quotas have throttled a process's cgroups so far: CPU time that its threads
 * could have used. With nested quotas the longest time counts, as nested cgroups may be throttled
 * at the same time.
 */
struct cgroup_throttled {
    double own_s;    /* of cgroups that do not contain process `beside` */
    double shared_s; /* of cgroups that contain both processes */
};
void cgroup_read_throttled(const char *root, const char *process, const char *beside,
                           struct cgroup_throttled *out);

/*
 * True if the cgroup's quota is below `cpus` CPUs; then writes a sentence that warns of it, as the
 * kernel throttles processes that use more.
 */
bool cgroup_format_quota(const struct cgroup_limits *cgroup, unsigned cpus, char *buf, size_t size);

#endif

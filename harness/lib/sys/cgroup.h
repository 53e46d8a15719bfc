/*
 * Cgroups, as /proc and /sys/fs/cgroup show them; cgroup.h makes some. Version 2
 * (Documentation/admin-guide/cgroup-v2.rst), and version 1 (scheduler/sched-bwc.rst,
 * admin-guide/cgroup-v1/memory.rst) for the controllers that are in it. A limit applies to all
 * cgroups below. A container sees its own cgroup as the root.
 *
 * `root` as in lib/sys/proc.h. A `folder` is the path of a cgroup with its mount point, of either
 * version. NaN and "" = none, or unknown.
 */
#ifndef CONTEND_LIB_SYS_CGROUP_H
#define CONTEND_LIB_SYS_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/proc.h"
#include "harness/lib/sys/process.h"

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

/*
 * Cgroups that this process makes and removes. They are of version 1 if it has the `cpu` controller
 * (then only quotas and weights work), else of version 2. All are in one cgroup,
 * contend-NAMESPACE-PID-START: a sibling of the process's own cgroup, or its child if that is the
 * root or of version 1. A killed process leaves an empty cgroup, as its workers die with it; the
 * next process removes it.
 *
 *   rc = groups_open(&groups, err);
 *   rc = groups_enable(&groups, "cpu", err);
 *   rc = groups_make(&groups, 0, dir, sizeof(dir), err);          DIR/worker-0
 *   rc = groups_set_quota(dir, 0.5, 100000, err);
 *   ... groups_put(dir, "cgroup.procs", "0") in a child of ours ...
 *   groups_close(&groups);
 */

enum { GROUPS_PATH_MAX = PATH_MAX + 64, GROUPS_PERIOD_US = 100000 /* the kernel's default */ };

/* Zeroed = closed. */
struct groups {
    char base[PATH_MAX / 4]; /* parent of `dir` */
    char dir[PATH_MAX / 2];  /* this process's cgroup; "" = not made */
    char enabled[64]; /* undoes what we enabled in `base` (subtree_control), "-cpuset -cpu" */
    struct process keeper;
    int keeper_fd;
};

/*
 * Removes cgroups of processes that no longer exist, then makes `dir`. -ENOTSUP or another negative
 * errno: no permission, a read-only file system, or the process's own cgroup has limits.
 */
int groups_open(struct groups *groups, struct err *err);

/*
 * Starts a keeper process that removes the cgroups at once if this process is killed. Call it
 * before there are threads. Errors: those of fork and pipe.
 */
int groups_keep(struct groups *groups, struct err *err);

/* Removes `dir` and the cgroups in it, which must have no processes by then. */
void groups_close(struct groups *groups);

/* Enables a controller for the cgroups in `dir`: "cpu", "cpuset", "memory", "pids". */
int groups_enable(struct groups *groups, const char *controller, struct err *err);

/* groups_name writes the path DIR/worker-INDEX; groups_make also makes it, unless it exists. */
void groups_name(const struct groups *groups, unsigned index, char *dir, size_t size);
int groups_make(const struct groups *groups, unsigned index, char *dir, size_t size,
                struct err *err);
/* Removes a cgroup without processes. 0 or -errno. */
int groups_remove(const char *dir);

/* groups_put writes a cgroup file, 0 or -errno; groups_set adds a message; groups_get reads. */
int groups_put(const char *dir, const char *name, const char *text);
int groups_set(const char *dir, const char *name, const char *text, struct err *err);
bool groups_get(const char *dir, const char *name, char *text, size_t size);

/* Sets a quota of `cpus` CPUs in periods of period_us, and verifies it (-EINVAL); or removes it. */
int groups_set_quota(const char *dir, double cpus, unsigned period_us, struct err *err);
void groups_remove_quota(const char *dir);
/* Sets a weight as in cpu.weight (100 = default, 1 to 10000; version 1: cpu.shares), and verifies
 * it. */
int groups_set_weight(const char *dir, unsigned weight, struct err *err);
/* The number in the line "WORD NUMBER" of a cgroup file, "nr_throttled 12"; NaN = no line. */
double groups_count(const char *dir, const char *name, const char *word);

#endif

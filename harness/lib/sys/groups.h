/*
 * Cgroups that this process makes and removes. They are of version 1 if it has the `cpu` controller
 * (then only quotas work), else of version 2. All are in one cgroup, contend-NAMESPACE-PID-START: a
 * sibling of the process's own cgroup, or its child if that is the root or of version 1. A killed
 * process leaves an empty cgroup, as its workers die with it; the next process removes it.
 *
 *   rc = groups_open(&groups, err);
 *   rc = groups_enable(&groups, "cpu", err);
 *   rc = groups_make(&groups, 0, dir, sizeof(dir), err);          DIR/worker-0
 *   rc = groups_set_quota(dir, 0.5, 100000, err);
 *   ... groups_put(dir, "cgroup.procs", "0") in a child of ours ...
 *   groups_close(&groups);
 */
#ifndef CONTEND_LIB_SYS_GROUPS_H
#define CONTEND_LIB_SYS_GROUPS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/lib/err.h"
#include "harness/lib/sys/process.h"

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
/* The number in the line "WORD NUMBER" of a cgroup file, "nr_throttled 12"; NaN = no line. */
double groups_count(const char *dir, const char *name, const char *word);

#endif

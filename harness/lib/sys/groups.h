/*
 * Cgroups that this process makes, and removes: of version 2, or, where version 1 has the
 * controller of CPU time, of that one, which then gives quotas alone. They stand beside its own
 * cgroup, or below it where that is the root or of version 1, in one that is named for it:
 * contend-NAMESPACE-PID-START. A group that a killed process has left behind is empty, as those in
 * it die with it, and the next one removes it.
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

#include "harness/lib/base/err.h"
#include "harness/lib/sys/process.h"

enum { GROUPS_PATH_MAX = PATH_MAX + 64, GROUPS_PERIOD_US = 100000 /* the usual one */ };

/* Zeroed = closed. */
struct groups {
    char base[PATH_MAX / 4]; /* where ours is made */
    char dir[PATH_MAX / 2];  /* ours; "" = not made */
    char enabled[64];        /* controllers that `base` hands on since we asked, "-cpuset -cpu" */
    struct process keeper;
    int keeper_fd;
};

/*
 * Makes ours, after removing those of processes that are gone. -ENOTSUP and the like where that
 * cannot be: no permission, a read-only file system, a cgroup of its own limits.
 */
int groups_open(struct groups *groups, struct err *err);

/*
 * Starts a process that lives as long as this one and removes all of it at once where this one is
 * killed. Before there are threads; errors are those of fork and pipe.
 */
int groups_keep(struct groups *groups, struct err *err);

/* With all in it, which has to be empty by then. */
void groups_close(struct groups *groups);

/* Hands a controller on to what is made in ours: "cpu", "cpuset", "memory", "pids". */
int groups_enable(struct groups *groups, const char *controller, struct err *err);

/* Names DIR/worker-INDEX; and makes it, or finds it there. */
void groups_name(const struct groups *groups, unsigned index, char *dir, size_t size);
int groups_make(const struct groups *groups, unsigned index, char *dir, size_t size,
                struct err *err);
/* Removes it, where nobody is in it. 0 or -errno. */
int groups_remove(const char *dir);

/* Writes a file of a cgroup: 0 or -errno; the same with a message; and reads one. */
int groups_put(const char *dir, const char *name, const char *text);
int groups_set(const char *dir, const char *name, const char *text, struct err *err);
bool groups_get(const char *dir, const char *name, char *text, size_t size);

/*
 * Gives it the time of so many CPUs in periods of so many us, and reads that back; or takes the
 * quota away again.
 */
int groups_set_quota(const char *dir, double cpus, unsigned period_us, struct err *err);
void groups_remove_quota(const char *dir);
/* In CPUs; NaN = it has none. */
double groups_get_quota(const char *dir);

/* Counters of its quota so far, each NaN = unknown; the time is summed over its CPUs. */
struct groups_quota {
    double periods, throttled_periods, throttled_s;
};
struct groups_quota groups_read_quota(const char *dir);

/* The number behind a word in a file of such lines, "nr_throttled 12"; NaN = it has none. */
double groups_count(const char *dir, const char *name, const char *word);

#endif

/* The CPUs that a thread may run on, and its priority there: system calls. */
#ifndef CONTEND_LIB_SYS_AFFINITY_H
#define CONTEND_LIB_SYS_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"

/* Gets the os_cpu set of thread `tid` (0 = the calling thread). 0, or -errno and an empty set. */
int affinity_get(pid_t tid, struct bitset *cpus);

/* True if a thread with this mask keeps a plan: a part of the planned CPUs does, as OpenMP binds.
 */
bool affinity_keeps(const struct bitset *mask, const struct bitset *planned);

/* 0, or -errno: the kernel does not report affinity at all, as in a sandbox. */
int affinity_check(void);

/* 0 or -errno, such as -EINVAL: the thread's cpuset has none of the CPUs. */
int affinity_set(pid_t tid, const struct bitset *cpus);

/* 0, or -errno: the kernel refuses memory policies, as in a container without CAP_SYS_NICE. */
int affinity_check_memory(void);

/*
 * The mask that this process was started with, read before any library's constructor ran: that of
 * libgomp binds the first thread if OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set. Empty if
 * the kernel does not report it.
 */
const struct bitset *affinity_at_start(void);

/* Restores that mask for the calling thread. */
void affinity_restore(void);

/* What a process gets of CPUs that others want, too. Zeroed = as it was started. */
struct cpu_priority {
    int64_t nice, weight; /* weight: of its cgroup, as cpu.weight */
    int policy;           /* index in cpu_policy_names */
};

/* "default", "batch", "idle", NULL. */
extern const char *const cpu_policy_names[];

/* Sets the nice level and the policy of the calling process, and reads them back. -errno. */
int cpu_priority_set(const struct cpu_priority *priority, struct err *err);
/* Takes over what `from` sets. */
void cpu_priority_take(struct cpu_priority *to, const struct cpu_priority *from);

/* Which CPU scheduler the kernel uses, from what the kernel exposes, never from its version. */

/*
 * "EEVDF" (the fair class from Linux 6.6 on), "EEVDF with BORE", "CFS", or "sched_ext: NAME"; if
 * sched_ext schedules only tasks that ask for it, "EEVDF, and sched_ext: NAME for some". "" if the
 * kernel exposes too little. `root` as in lib/sys/proc.h. Returns out.
 *
 * A kernel that places tasks by eligibility (Stoica and Abdel-Wahab 1995) has the symbol of their
 * average virtual runtime (avg_vruntime); any kernel with the fair class has task_tick_fair. The
 * version proves nothing: distributions backport schedulers, and sandboxes report their own.
 */
char *scheduler_read(const char *root, char *out, size_t size);

#endif

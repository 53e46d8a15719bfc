/* The CPUs that a thread may run on: the system calls, over our own sets. */
#ifndef CONTEND_LIB_SYS_AFFINITY_H
#define CONTEND_LIB_SYS_AFFINITY_H

#include <sys/types.h>

#include "harness/lib/base/bitset.h"

/* os_cpu of thread `tid`, 0 = this one; empty with -errno. */
int affinity_get(pid_t tid, struct bitset *cpus);

/* -errno where the kernel does not tell us at all, as under a sandbox. */
int affinity_check(void);

/* -errno, such as -EINVAL where the thread's cpuset has none of them. */
int affinity_set(pid_t tid, const struct bitset *cpus);

/* -errno where the kernel refuses memory policies, as in a container without CAP_SYS_NICE. */
int affinity_check_memory(void);

/*
 * The mask that this process was started with, read before the constructor of any library ran:
 * libgomp's binds the first thread where OMP_PROC_BIND, OMP_PLACES or GOMP_CPU_AFFINITY is set.
 * Empty where the kernel would not say.
 */
const struct bitset *affinity_at_start(void);

/* Gives the calling thread back what the process was started with. */
void affinity_put_back(void);

#endif

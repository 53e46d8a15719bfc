/*
 * Chooses the CPUs that a command gives to a group: near what the group uses, on cores that no
 * other group uses, and never the same CPU twice. Pure.
 */
#ifndef CONTEND_DOCTOR_CHECKS_CPU_ALLOCATOR_H
#define CONTEND_DOCTOR_CHECKS_CPU_ALLOCATOR_H

#include "harness/doctor/checks/check.h"
#include "harness/machine/topo.h"

/* The most groups that get slices; more do not fit into a command. */
enum { ALLOCATE_MOST = FOUND_PIDS_MAX };

/*
 * The home of a group: the CPUs near its GPUs, else those of the nodes on which it may run now,
 * minus CPUs that its cgroup forbids.
 */
void allocate_home(const struct checker *checker, size_t group, struct bitset *cpus);

/*
 * Removes CPUs to which other groups are bound, unless fewer than `least` or none would remain.
 * `group` is not counted as another one; SIZE_MAX = none.
 */
void allocate_spare(const struct checker *checker, size_t group, unsigned least,
                    struct bitset *cpus);

/*
 * Adds `want` CPUs to *room: idle CPUs of the group's home that no other bound group uses and that
 * were not given before. Prefers one CPU of each fully idle core. False: there are too few, and
 * nothing changes.
 */
bool allocate_idle(struct checker *checker, size_t group, unsigned want, struct bitset *room);

/*
 * Gives each of the n groups a slice of the pool and marks the slices as given. Prefers whole
 * cores, on the node of the group's GPU, else within one node. False: the topology is unknown or
 * does not allow it.
 */
bool allocate_slices(struct checker *checker, const size_t *groups, size_t n,
                     const struct bitset *pool, struct bitset slices[ALLOCATE_MOST]);

/* True if these CPUs idled long enough for a thread on each. */
bool allocate_is_idle(const struct view *view, const struct bitset *cpus);

/* Index in topo.gpus of the first of these view.gpus; -1 = none, or they are on several nodes. */
int allocate_gpu(const struct view *view, const struct topo *topo, uint64_t gpus);

#endif

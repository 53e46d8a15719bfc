/*
 * Which CPUs a command may give to whom: near what it uses, on cores that nobody else has, and not
 * twice. Pure.
 */
#ifndef CONTEND_DOCTOR_CHECK_CPU_ALLOCATOR_H
#define CONTEND_DOCTOR_CHECK_CPU_ALLOCATOR_H

#include "harness/doctor/check/check.h"
#include "harness/machine/topo/topo.h"

/* The most processes for which slices are dealt; more do not fit into a command. */
enum { ALLOCATE_MOST = FOUND_PIDS_MAX };

/*
 * Where a group is at home: the CPUs near its GPUs, else those of the nodes on which it may run
 * now. CPUs that its cgroup forbids are left out.
 */
void allocate_home(const struct checker *checker, size_t group, struct bitset *cpus);

/*
 * Takes the CPUs out to which workers of other groups are bound; where that leaves none, or
 * fewer than `least`, nothing is changed. `group`: SIZE_MAX = of none.
 */
void allocate_spare(const struct checker *checker, size_t group, unsigned least,
                    struct bitset *cpus);

/*
 * Adds to *room as many CPUs more of its home, which idled, are of no other worker that is bound,
 * and were given to nobody yet: whole idle cores first. False: there are not so many, and nothing
 * is changed.
 */
bool allocate_idle(struct checker *checker, size_t group, unsigned want, struct bitset *room);

/*
 * One slice of the pool for each of the n groups: whole cores where there are enough, on the node
 * of its GPU, or else of one node. They are given to nobody else then. False:
 * the topology is not known, or cannot give them that.
 */
bool allocate_slices(struct checker *checker, const size_t *groups, size_t n,
                     const struct bitset *pool, struct bitset slices[ALLOCATE_MOST]);

/* True when these CPUs idled for so long that there is room for a thread on each. */
bool allocate_is_idle(const struct view *view, const struct bitset *cpus);

/* The GPU of these bits of view.gpus, by its index in topo.gpus; -1 = none, or of several nodes. */
int allocate_gpu(const struct view *view, const struct topo *topo, uint64_t gpus);

#endif

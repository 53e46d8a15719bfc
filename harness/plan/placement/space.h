/* The CPUs that a plan may use, and the placements' queries. Only plan.c and policy.c use this. */
#ifndef CONTEND_PLAN_PLACEMENT_SPACE_H
#define CONTEND_PLAN_PLACEMENT_SPACE_H

#include "harness/plan/placement/plan.h"

struct plan_space {
    const struct topo *topo;
    const struct plan_request *request;
    struct bitset available; /* allowed, asked for, not reserved; never empty */
    unsigned ncpus;          /* how many of them */
};

/* The first topology CPU that may be used: there always is one. */
const struct topo_cpu *space_first_cpu(const struct plan_space *space);

/* How many cores have a usable CPU. */
unsigned space_count_cores(const struct plan_space *space);

/* The usable CPUs of last-level caches: all but those of cores outside of them. */
struct bitset space_llc_cpus(const struct plan_space *space);

/* True when these lie in one last-level cache. */
bool space_has_one_llc(const struct plan_space *space);

/* True when the usable CPUs are of one kind, in one last-level cache, near one node. */
bool space_is_uniform(const struct plan_space *space);

/* True when `partition` gives no two workers threads of one core; false also where it has no plan.
 */
bool space_partition_keeps_cores(const struct plan_space *space);

/* True when `partition` has the plan's slices. */
bool space_partition_equals(const struct plan_space *space, const struct plan *plan);

#endif

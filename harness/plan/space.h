/* The CPUs that a plan may use, and queries about them. Only plan.c and the policy files use it. */
#ifndef CONTEND_PLAN_SPACE_H
#define CONTEND_PLAN_SPACE_H

#include "harness/plan/plan.h"

struct plan_space {
    const struct topo *topo;
    const struct plan_request *request;
    struct bitset available; /* allowed, requested, not reserved; never empty */
    unsigned ncpus;          /* how many of them */
};

/* The first usable CPU in topology order; never NULL. */
const struct topo_cpu *space_first_cpu(const struct plan_space *space);

/* How many cores have a usable CPU. */
unsigned space_count_cores(const struct plan_space *space);

/* The usable CPUs under a last-level cache: all except cores outside these caches. */
struct bitset space_llc_cpus(const struct plan_space *space);

/* True when the CPUs of space_llc_cpus share one last-level cache. */
bool space_has_one_llc(const struct plan_space *space);

/* True when all usable CPUs are of one kind, in one last-level cache and near one node. */
bool space_is_uniform(const struct plan_space *space);

/* True when `partition` never divides a core between workers; false also if it has no plan. */
bool space_partition_keeps_cores(const struct plan_space *space);

/* True when `partition` gives every worker the same CPUs as the plan. */
bool space_partition_equals(const struct plan_space *space, const struct plan *plan);

#endif

/*
 * Properties of this machine that are easily missed, as findings: CPUs that the system's list
 * hides, isolated CPUs, nodes whose CPUs have no memory of their own, GPUs that contend cannot
 * measure. Pure.
 */
#ifndef CONTEND_MACHINE_TOPO_TOPO_CHECK_H
#define CONTEND_MACHINE_TOPO_TOPO_CHECK_H

#include "harness/contract/finding.h"
#include "harness/machine/topo/topo.h"

/*
 * cpus_hidden (allowed, and not listed as online), cpus_isolated (in the affinity mask, a doubt, or
 * outside it, a note), node_no_memory and node_memory_refused (of nodes with allowed CPUs),
 * other_gpus. One of each kind at most. -ENOMEM only.
 */
int topo_check(const struct topo *topo, struct findings *findings, struct err *err);

/* Whether this allowed CPU's own NUMA node has no memory that we may use. */
bool topo_lacks_memory(const struct topo *topo, unsigned os_cpu);

#endif

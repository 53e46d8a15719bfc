/*
 * Easily missed properties of this machine, as findings: CPUs missing in the system's list,
 * isolated CPUs, nodes whose CPUs have no local memory, GPUs that contend cannot measure. Pure.
 */
#ifndef CONTEND_MACHINE_TOPO_CHECK_H
#define CONTEND_MACHINE_TOPO_CHECK_H

#include "harness/lib/finding.h"
#include "harness/machine/topo.h"

/*
 * Finding ids: cpus_hidden (allowed, but not listed as online), cpus_unknown (in the affinity mask,
 * but not in the topology), cpus_isolated (allowed: a doubt), cpus_isolated_out (not allowed: a
 * note), node_no_memory (once more for nodes that the source does not list) and node_memory_refused
 * (of nodes with allowed CPUs), other_gpus. At most one of the others.
 */
void topo_check(const struct topo *topo, struct findings *findings);

/* True if the CPU's own NUMA node has no memory that we may use. */
bool topo_lacks_memory(const struct topo *topo, const struct topo_cpu *cpu);

#endif

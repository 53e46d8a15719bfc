/* Which NUMA node a CPU is nearest to, also where its own has no memory. Pure. */
#ifndef CONTEND_MACHINE_TOPO_NEAREST_H
#define CONTEND_MACHINE_TOPO_NEAREST_H

#include "harness/machine/topo.h"

/*
 * Sets the node of each CPU (-1: unknown) from the nodes' CPUs, memory and distances; then nodes
 * with memory that are nearest to no CPU have no CPUs. -ENOMEM only.
 */
int topo_nearest_nodes(struct topo *topo, struct err *err);

#endif

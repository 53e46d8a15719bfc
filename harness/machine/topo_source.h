/*
 * Loads a topology from its source: this machine, an XML file, or a synthetic description. Only
 * topo_load.c includes this; other code uses struct topo.
 */
#ifndef CONTEND_MACHINE_TOPO_SOURCE_H
#define CONTEND_MACHINE_TOPO_SOURCE_H

#include <hwloc.h>
#include <stdbool.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"

/*
 * Loads an hwloc topology, with disallowed CPUs and GPUs. xml: NULL = this machine. The caller
 * destroys *hw unless it is NULL, also after an error. *hidden: CPUs in our affinity mask that the
 * system's list of online CPUs lacks; *hw has them. Errors: those of topo_load.
 */
int topo_source_load(const char *xml, hwloc_topology_t *hw, struct bitset *hidden, struct err *err);

/* True if `xml` names a file, false if it is a synthetic description. */
bool topo_source_is_file(const char *xml);

#endif

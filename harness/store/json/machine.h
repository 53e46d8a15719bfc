/* The topology as JSON, as in `contend info --json` and in run.json. */
#ifndef CONTEND_STORE_JSON_MACHINE_H
#define CONTEND_STORE_JSON_MACHINE_H

#include <jansson.h>

#include "harness/lib/base/bitset.h"
#include "harness/machine/facts/key.h"
#include "harness/machine/topo/topo.h"

/*
 * {"origin", "cpu_model", "hypervisor", "cpus": {"count", "all", "allowed"},
 *  "cpu_sets": {"packages": [CPUs], "llcs": [CPUs], "cores": [CPUs]}, "cores", "packages",
 *  "llcs", "llc_level", "threads_per_core": {"min", "max"}, "core_kinds": [{"kind", "cpus"}],
 *  "caches": [{"level", "size_bytes", "count", "cpus"}],
 *  "nodes": [{"node", "kind", "memory_bytes", "allowed", "cpus"}],
 *  "distances": [[...]] | null,
 *  "gpus": [{"pci_bdf", "cuda_ordinal", "name", "uuid", "node", "node_source", "cpus", "note",
 *            "health": health.h | null}],
 *  "gpu_note", "cuda_driver": "13.0"}
 * Nodes are os_node numbers, CPUs lists of os_cpu; unknown is null. NULL: no memory. The caller
 * owns the result.
 */
json_t *topo_to_json(const struct topo *topo);

/*
 * {"key", "kind", "identity": "uuid" | "gpus" | "id" | null, "parts": {"arch", "vendor", "product",
 *  "cpu_model", "packages", "cores", "cpus", "nodes", "board", "bios", "microcode", "uuid", "id",
 *  "gpus": [{"name", "vbios", "uuid", "pci_bdf"}]}}
 * UUIDs and id are marks (machine_mark), unknown is null. NULL: no memory.
 */
json_t *machine_to_json(const struct machine_parts *parts);

#endif

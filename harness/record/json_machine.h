/* The topology as JSON, as in `contend info --json` and in run.json. */
#ifndef CONTEND_RECORD_JSON_MACHINE_H
#define CONTEND_RECORD_JSON_MACHINE_H

#include <jansson.h>

#include "harness/engine/result.h"
#include "harness/lib/bitset.h"
#include "harness/machine/env.h"
#include "harness/machine/gpu_health.h"
#include "harness/machine/key.h"
#include "harness/machine/topo.h"
#include "harness/plan/plan.h"

/*
 * {"origin", "cpu_model", "hypervisor", "cpus": {"count", "all", "allowed"},
 *  "cpu_sets": {"packages": [CPUs], "llcs": [CPUs], "cores": [CPUs]}, "cores", "packages",
 *  "llcs", "llc_level", "threads_per_core": {"min", "max"}, "core_kinds": [{"kind", "cpus"}],
 *  "caches": [{"level", "size_bytes", "count", "cpus"}],
 *  "nodes": [{"node", "kind", "memory_bytes", "allowed", "cpus"}],
 *  "distances": [[...]] | null,
 *  "gpus": [{"pci_bdf", "cuda_ordinal", "name", "uuid", "node", "node_source", "cpus", "note",
 *            "health": gpu_health_to_json | null}],
 *  "gpu_note", "cuda_driver": "13.0", "findings": of topo_check, as findings_to_json}
 * Nodes are os_node numbers, CPUs lists of os_cpu; unknown is null. NULL: no memory. The caller
 * owns the result.
 */
json_t *topo_to_json(const struct topo *topo);

/*
 * {"key", "kind", "identity": "uuid" | "gpus" | "id" | null, "parts": {"arch", "vendor", "product",
 *  "cpu_model", "packages", "cores", "cpus", "nodes", "board", "bios", "microcode", "uuid", "id",
 *  "gpus": [{"name", "vbios", "uuid", "pci_bdf"}]}}
 * UUIDs and id are marks (machine_mark); unknown is null. NULL: no memory.
 */
json_t *machine_to_json(const struct machine_parts *parts);

/*
 * {"pcie": {"generation", "generation_link", "generation_gpu", "width", "width_max"},
 *  "nvlink": {"links", "active", "version"},
 *  "ecc": {"on", "on_after_reset", "corrected", "uncorrected", "corrected_life",
 *          "uncorrected_life"},
 *  "memory": {"rows_corrected", "rows_uncorrected", "rows_pending", "rows_failed",
 *             "pages_pending"},
 *  "persistence", "compute_mode",
 *  "mig": {"on", "on_after_reset", "count", "instances": [{"name", "uuid"}]},
 *  "processes": {"count", "list": [{"pid", "name", "memory_bytes"}]},
 *  "clock_mhz", "clock_max_mhz", "memory_clock_mhz", "power_w", "power_limit_w",
 *  "power_limit_default_w", "temperature_c",
 *  "findings": as findings_to_json, of `subject`}
 * Unknown is null; null alone for NULL. NULL: no memory. The caller owns the result.
 */
json_t *gpu_health_to_json(const struct gpu_health *health, const char *subject);

/* An object that always has every key. NULL: no memory. */
json_t *env_to_json(const struct environment *env);

/* A plan as the JSON object of DESIGN.md, "Output of a run". */

/*
 * {"placement", "status": "ok" | "skipped", "reason", "workers": [{"worker", "cpus", "mem_nodes",
 * "mem_policy", "threads", "gpu": {"pci_bdf", "cuda_ordinal"} | null}, ...]}. A worker may also
 * have "wait_policy": "passive", "background": true and "host". With n observations of this plan,
 * the workers that ran also have "cpus_actual" and "mem_nodes_actual". "findings" (json/findings.h)
 * has those of plan/check.h, if there are any. NULL: no memory. The caller owns it.
 */
json_t *plan_to_json(const struct topo *topo, const struct plan *plan,
                     const struct observation *observations, size_t n);

/* Reads a worker of plan_to_json into a zeroed struct. -EINVAL: its CPUs or nodes are no list. */
int plan_worker_from_json(const json_t *json, struct plan_worker *worker, struct err *err);

/* The options of all plans, from "options" of run.json; those that are lists there (of a search)
 * stay zero. Borrows its text. */
struct plan_options plan_options_from_json(const json_t *options);

/* An array of plans. NULL: no memory. The caller owns it. */
json_t *plans_to_json(const struct topo *topo, const struct plan *const *plans, size_t n);

#endif

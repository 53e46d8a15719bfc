/* A plan as the JSON object of DESIGN.md, "Output of a run". */
#ifndef CONTEND_RECORD_PLAN_H
#define CONTEND_RECORD_PLAN_H

#include <jansson.h>

#include "harness/engine/result.h"
#include "harness/plan/plan.h"

/*
 * {"placement", "status": "ok" | "skipped", "reason", "workers": [{"worker", "cpus", "mem_nodes",
 * "mem_policy", "threads", "gpu": {"pci_bdf", "cuda_ordinal"} | null}, ...]}. A worker may also
 * have "wait_policy": "passive", "background": true and "host". With n observations of this plan,
 * the workers that ran also have "cpus_actual" and "mem_nodes_actual". "findings" (json/findings.h)
 * has those of plan/check.h, if there are any. NULL: no memory. The caller owns it.
 */
json_t *plan_to_json(const struct topo *topo, const struct plan *plan,
                     const struct observation *observations, size_t n);

/* The options of all plans, from "options" of run.json; those that are lists there (of a search)
 * stay zero. Borrows its text. */
struct plan_options plan_options_from_json(const json_t *options);

/* An array of plans. NULL: no memory. The caller owns it. */
json_t *plans_to_json(const struct topo *topo, const struct plan *const *plans, size_t n);

#endif

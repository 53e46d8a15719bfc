#include "harness/json/plan.h"

#include "harness/json/machine.h"

static json_t *gpu_to_json(const struct topo *topo, const struct plan_worker *worker)
{
    if (worker->gpu < 0)
        return json_null();
    if (worker->pci_bdf[0])
        return json_pack("{s:s, s:i}", "pci_bdf", worker->pci_bdf, "cuda_ordinal", worker->gpu);
    return json_pack("{s:s, s:i}", "pci_bdf", topo->gpus[worker->gpu].pci_bdf, "cuda_ordinal",
                     topo->gpus[worker->gpu].cuda_ordinal);
}

static json_t *worker_to_json(const struct topo *topo, const struct plan *plan, unsigned w,
                              const struct observation *actual)
{
    const struct plan_worker *worker = &plan->workers[w];
    json_t *json =
        json_pack("{s:i, s:o, s:o, s:s, s:i, s:o}", "worker", (int)w, "cpus",
                  bitset_to_json(&worker->cpus), "mem_nodes", bitset_to_json(&worker->mem_nodes),
                  "mem_policy", mem_policy_name(worker->mem_policy), "threads",
                  (int)worker->threads, "gpu", gpu_to_json(topo, worker));
    if (worker->passive)
        (void)json_object_set_new(json, "wait_policy", json_string("passive"));
    if (worker->background)
        (void)json_object_set_new(json, "background", json_true());
    if (worker->host[0])
        (void)json_object_set_new(json, "host", json_string(worker->host));
    if (actual && w < actual->nworkers) { /* a baseline runs only the first worker */
        const struct worker_result *ran = &actual->workers[w];
        (void)json_object_set_new(json, "cpus_actual", bitset_to_json(&ran->cpus_actual));
        (void)json_object_set_new(json, "mem_nodes_actual", bitset_to_json(&ran->mem_nodes_actual));
    }
    return json;
}

json_t *plan_to_json(const struct topo *topo, const struct plan *plan,
                     const struct observation *actual)
{
    json_t *workers = json_array();
    for (unsigned w = 0; w < plan->nworkers; w++)
        (void)json_array_append_new(workers, worker_to_json(topo, plan, w, actual));
    return json_pack("{s:s, s:s, s:s, s:o}", "placement", placement_infos[plan->placement].name,
                     "status", plan->status == PLAN_OK ? "ok" : "skipped", "reason", plan->reason,
                     "workers", workers);
}

json_t *plans_to_json(const struct topo *topo, const struct plan *const *plans, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array, plan_to_json(topo, plans[i], NULL));
    return array;
}

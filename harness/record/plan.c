#include "harness/record/plan.h"

#include <string.h>

#include "harness/plan/check.h"
#include "harness/record/findings.h"
#include "harness/record/json_value.h"

static json_t *gpu_to_json(const struct topo *topo, const struct plan_worker *worker)
{
    if (worker->gpu < 0)
        return json_null();
    bool own = worker->pci_bdf[0] != '\0';
    return json_value_object("pci_bdf:t cuda_ordinal:i",
                             own ? worker->pci_bdf : topo->gpus[worker->gpu].pci_bdf,
                             own ? worker->gpu : topo->gpus[worker->gpu].cuda_ordinal);
}

/*
 * The result with the read-back masks of worker `w`: that of the first observation in which it ran.
 * A later round with another binding is a failed observation, with its own reason. NULL: it never
 * ran.
 */
static const struct worker_result *find_ran(const struct observation *observations, size_t n,
                                            unsigned w)
{
    for (size_t i = 0; i < n; i++) {
        const struct observation *of = &observations[i];
        if (of->status < STATUS_SKIPPED && w >= of->slot && w - of->slot < of->nworkers)
            return &of->workers[w - of->slot];
    }
    return NULL;
}

static json_t *worker_to_json(const struct topo *topo, const struct plan *plan, unsigned w,
                              const struct worker_result *ran)
{
    const struct plan_worker *worker = &plan->workers[w];
    json_t *json =
        json_value_object("worker:i cpus:c mem_nodes:c mem_policy:t threads:i gpu:o", (int)w,
                          &worker->cpus, &worker->mem_nodes, mem_policy_name(worker->mem_policy),
                          (int)worker->threads, gpu_to_json(topo, worker));
    if (worker->passive)
        (void)json_value_add(json, "wait_policy:t", "passive");
    if (worker->background)
        (void)json_value_add(json, "background:b", true);
    if (worker->host[0])
        (void)json_value_add(json, "host:t", worker->host);
    if (ran)
        (void)json_value_add(json, "cpus_actual:c mem_nodes_actual:c", &ran->cpus_actual,
                             &ran->mem_nodes_actual);
    return json;
}

json_t *plan_to_json(const struct topo *topo, const struct plan *plan,
                     const struct observation *observations, size_t n)
{
    json_t *workers = json_array();
    for (unsigned w = 0; w < plan->nworkers; w++)
        (void)json_array_append_new(workers,
                                    worker_to_json(topo, plan, w, find_ran(observations, n, w)));
    json_t *json = json_value_object(
        "placement:t status:t reason:t workers:o", placement_infos[plan->placement].name,
        plan->status == PLAN_OK ? "ok" : "skipped", plan->reason, workers);
    struct findings findings = {0};
    struct err err;
    if (plan_check(topo, plan, &findings, &err)) {
        json_decref(json);
        json = NULL;
    }
    if (findings.n)
        (void)json_object_set_new(json, "findings", findings_to_json(&findings));
    findings_free(&findings);
    return json;
}

json_t *plans_to_json(const struct topo *topo, const struct plan *const *plans, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(array, plan_to_json(topo, plans[i], NULL, 0));
    return array;
}

static int choice_of(const json_t *options, const char *name, const char *const *choices)
{
    const char *text = json_value_text_of(options, name);
    int i = 0;
    while (choices[i] && strcmp(choices[i], text) != 0)
        i++;
    return choices[i] ? i : 0;
}

struct plan_options plan_options_from_json(const json_t *options)
{
    return (struct plan_options){
        .reserve = json_integer_value(json_object_get(options, "reserve")),
        .cpus = json_string_value(json_object_get(options, "cpus")),
        .threads = json_integer_value(json_object_get(options, "threads")),
        .cores_each = json_integer_value(json_object_get(options, "cores-each")),
        .mem = choice_of(options, "mem", plan_mem_choices),
        .wait = choice_of(options, "wait", plan_wait_choices),
    };
}

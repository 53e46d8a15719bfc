#include "harness/record/json_machine.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "harness/lib/text.h"
#include "harness/machine/topo_check.h"
#include "harness/machine/topo_gpu.h"
#include "harness/plan/check.h"
#include "harness/record/json_value.h"

/* The number of entries in a list that holds `most`; 0 if `n` is unknown (negative). */
static size_t listed(int n, int most)
{
    return n < 0 ? 0 : (size_t)(n < most ? n : most);
}

static json_t *judged_to_json(const struct gpu_health *h, const char *subject)
{
    struct findings findings = {0};
    gpu_health_judge(h, subject, &findings);
    json_t *json = findings_to_json(&findings);
    findings_free(&findings);
    return json;
}

json_t *gpu_health_to_json(const struct gpu_health *h, const char *subject)
{
    if (!h)
        return json_null();
    return json_value_object(
        "pcie:o nvlink:o ecc:o memory:o persistence:f compute_mode:t mig:o processes:o clock_mhz:r "
        "clock_max_mhz:r memory_clock_mhz:r power_w:r power_limit_w:r power_limit_default_w:r "
        "temperature_c:r findings:o",
        json_value_object("generation:n generation_link:n generation_gpu:n width:n width_max:n",
                          h->pcie_generation, h->pcie_generation_link, h->pcie_generation_gpu,
                          h->pcie_width, h->pcie_width_max),
        json_value_object("links:n active:n version:n", h->nvlinks, h->nvlinks_active,
                          h->nvlink_version),
        json_value_object("on:f on_after_reset:f corrected:N uncorrected:N corrected_life:N "
                          "uncorrected_life:N",
                          h->ecc, h->ecc_pending, h->ecc_corrected, h->ecc_uncorrected,
                          h->ecc_corrected_life, h->ecc_uncorrected_life),
        json_value_object("rows_corrected:n rows_uncorrected:n rows_pending:f rows_failed:f "
                          "pages_pending:f",
                          h->rows_corrected, h->rows_uncorrected, h->rows_pending, h->rows_failed,
                          h->pages_pending),
        h->persistence, gpu_compute_mode_name(h->compute_mode),
        json_value_object("on:f on_after_reset:f count:n instances:o", h->mig, h->mig_pending,
                          h->ninstances,
                          JSON_ARRAY(each, h->instances, listed(h->ninstances, GPU_INSTANCES_MAX),
                                     json_value_object("name:t uuid:t", each->name, each->uuid))),
        json_value_object(
            "count:n list:o", h->nprocesses,
            JSON_ARRAY(each, h->processes, listed(h->nprocesses, GPU_PROCESSES_MAX),
                       json_value_object("pid:i name:T memory_bytes:N", (int)each->pid, each->name,
                                         each->memory_bytes))),
        h->clock_mhz, h->clock_max_mhz, h->memory_clock_mhz, h->power_w, h->power_limit_w,
        h->power_limit_default_w, h->temperature_c, judged_to_json(h, subject));
}

static json_t *cpus_to_json(const struct topo *topo)
{
    struct bitset all = {0}, allowed = {0};
    for (unsigned i = 0; i < topo->ncpus; i++)
        bitset_set(&all, topo->cpus[i].os_cpu);
    topo_allowed_cpus(topo, &allowed);
    return json_value_object("count:i all:c allowed:c", topo->ncpus, &all, &allowed);
}

/* The CPUs that have this index in the int at `offset` of struct topo_cpu. */
static struct bitset cpus_of(const struct topo *topo, size_t offset, size_t index)
{
    struct bitset cpus = {0};
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (*(const int *)(const void *)((const char *)&topo->cpus[i] + offset) == (int)index)
            bitset_set(&cpus, topo->cpus[i].os_cpu);
    return cpus;
}

static json_t *kinds_to_json(const struct topo *topo)
{
    json_t *kinds = json_array();
    for (size_t kind = 0; kind < topo->nkinds; kind++) {
        const struct bitset cpus = cpus_of(topo, offsetof(struct topo_cpu, kind), kind);
        json_value_append(&kinds, json_value_object("kind:z cpus:c", kind, &cpus));
    }
    return kinds;
}

static json_t *sets_to_json(const struct topo *topo, size_t offset, unsigned n)
{
    json_t *sets = json_array();
    for (unsigned set = 0; set < n; set++) {
        const struct bitset cpus = cpus_of(topo, offset, set);
        (void)json_array_append_new(sets, bitset_to_json(&cpus));
    }
    return sets;
}

static json_t *node_to_json(const struct topo_node *node)
{
    return json_value_object(
        "node:i kind:t memory_bytes:N allowed:b cpus:c", (int)node->os_node, node->kind,
        node->memory_bytes ? (int64_t)node->memory_bytes : (int64_t)-1, node->allowed, &node->cpus);
}

static json_t *distances_to_json(const struct topo *topo)
{
    if (!topo->distances)
        return json_null();
    return JSON_ARRAY(from, topo->nodes, topo->nnodes,
                      JSON_ARRAY(distance, topo->distances + (from - topo->nodes) * topo->nnodes,
                                 topo->nnodes, json_integer(*distance)));
}

static json_t *gpu_to_json(const struct topo *topo, const struct topo_gpu *gpu)
{
    return json_value_object(
        "pci_bdf:t cuda_ordinal:n name:t uuid:t node:n node_source:t cpus:c note:t health:o",
        gpu->pci_bdf, gpu->cuda_ordinal, gpu->name, gpu->uuid,
        gpu->node < 0 ? -1 : (int)topo->nodes[gpu->node].os_node, topo_source_name(gpu->source),
        &gpu->cpus, gpu->note, gpu_health_to_json(gpu->health, topo_gpu_name(gpu)));
}

json_t *machine_to_json(const struct machine_parts *parts)
{
    struct machine_key key;
    machine_key_make(parts, &key);
    return json_value_object(
        "key:t kind:t identity:T parts:o", key.key, key.kind, key.identity,
        json_value_object(
            "arch:T vendor:T product:T cpu_model:T packages:i cores:i cpus:i nodes:i board:T "
            "bios:T microcode:T uuid:T id:T gpus:o",
            parts->arch, parts->vendor, parts->product, parts->cpu_model, parts->packages,
            parts->cores, parts->cpus, parts->nodes, parts->board, parts->bios, parts->microcode,
            machine_mark(parts->uuid), machine_mark(parts->id),
            JSON_ARRAY(gpu, parts->gpus, parts->ngpus,
                       json_value_object("name:T vbios:T uuid:T pci_bdf:T", gpu->name, gpu->vbios,
                                         machine_mark(gpu->uuid), gpu->pci_bdf))));
}

static json_t *check_to_json(const struct topo *topo)
{
    struct findings findings = {0};
    topo_check(topo, &findings);
    json_t *array = findings_to_json(&findings);
    findings_free(&findings);
    return array;
}

json_t *topo_to_json(const struct topo *topo)
{
    unsigned min = 0, max = 0;
    topo_threads_per_core(topo, &min, &max);
    return json_value_object(
        "origin:t cpu_model:t hypervisor:b cpus:o cpu_sets:o cores:i packages:i llcs:i llc_level:i "
        "threads_per_core:o core_kinds:o caches:o nodes:o distances:o gpus:o gpu_note:t "
        "cuda_driver:o findings:o",
        topo->origin, topo->cpu_model, topo->hypervisor, cpus_to_json(topo),
        json_value_object("packages:o llcs:o cores:o",
                          sets_to_json(topo, offsetof(struct topo_cpu, package), topo->npackages),
                          sets_to_json(topo, offsetof(struct topo_cpu, llc), topo->nllcs),
                          sets_to_json(topo, offsetof(struct topo_cpu, core), topo->ncores)),
        (int)topo->ncores, (int)topo->npackages, (int)topo->nllcs, (int)topo->llc_level,
        json_value_object("min:i max:i", min, max), kinds_to_json(topo),
        JSON_ARRAY(cache, topo->caches, topo->ncaches,
                   json_value_object("level:i size_bytes:I count:i cpus:i", cache->level,
                                     (int64_t)cache->size_bytes, (int)cache->count,
                                     (int)cache->cpus)),
        JSON_ARRAY(node, topo->nodes, topo->nnodes, node_to_json(node)), distances_to_json(topo),
        JSON_ARRAY(gpu, topo->gpus, topo->ngpus, gpu_to_json(topo, gpu)), topo->gpu_note,
        topo->cuda_driver
            ? json_sprintf("%d.%d", topo->cuda_driver / 1000, topo->cuda_driver % 1000 / 10)
            : json_null(),
        check_to_json(topo));
}

/* {"OMP_NUM_THREADS": "4", ...} */
static json_t *from_variables(const struct environment *env)
{
    json_t *object = json_object();
    for (size_t i = 0; object && i < env->nvariables; i++) {
        char name[256];
        const char *equals = strchr(env->variables[i], '=');
        size_t length = (size_t)(equals - env->variables[i]);
        if (length >= sizeof(name))
            continue;
        memcpy(name, env->variables[i], length);
        name[length] = '\0';
        /* jansson refuses a name that is not UTF-8; no library reads such a variable. */
        (void)json_object_set_new(object, name, json_value_text(equals + 1));
    }
    return object;
}

json_t *env_to_json(const struct environment *env)
{
    const struct cgroup_limits *cgroup = &env->cgroup;
    json_t *json = json_value_object(
        "hostname:T os:T kernel:T scheduler:T arch:T cpu_model:T microcode:T governor:T boost:F "
        "transparent_hugepage:T numa_balancing:d swappiness:d perf_event_paranoid:d "
        "memory_bytes:d memlock_bytes:d clocksource:T virtual_machine:F hypervisor:T "
        "machine_vendor:T machine_product:T cgroup:o glibc:T compiler:T driver:T mps:F cuda:T "
        "nccl:T variables:o",
        env->hostname, env->os, env->kernel, env->scheduler, env->arch, env->cpu_model,
        env->microcode, env->governor, env->boost, env->thp, env->numa_balancing, env->swappiness,
        env->perf_event_paranoid, env->memory_bytes, env->memlock_bytes, env->clocksource,
        env->virtual_machine, env->hypervisor, env->machine_vendor, env->machine_product,
        json_value_object("path:T cpu_max:T cpus_limit:r cpuset_cpus_effective:T "
                          "memory_limit_bytes:d",
                          cgroup->path, cgroup->cpu_max, cgroup->cpus_limit, cgroup->cpuset,
                          cgroup->memory_limit_bytes),
        env->glibc, env->compiler, env->driver, env->mps, env->cuda, env->nccl,
        from_variables(env));
    if (isinf(env->memlock_bytes))
        (void)json_value_add(json, "memlock_bytes:t", "unlimited");
    return json;
}

static json_t *gpu_of_worker(const struct topo *topo, const struct plan_worker *worker)
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
                          (int)worker->threads, gpu_of_worker(topo, worker));
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
    plan_check(topo, plan, &findings);
    if (findings.n)
        (void)json_object_set_new(json, "findings", findings_to_json(&findings));
    findings_free(&findings);
    return json;
}

json_t *plans_to_json(const struct topo *topo, const struct plan *const *plans, size_t n)
{
    return JSON_ARRAY(plan, plans, n, plan_to_json(topo, *plan, NULL, 0));
}

int plan_worker_from_json(const json_t *json, struct plan_worker *worker, struct err *err)
{
    worker->threads = json_value_count_of(json, "threads");
    worker->passive = !strcmp(json_value_text_of(json, "wait_policy"), "passive");
    worker->background = json_is_true(json_object_get(json, "background"));
    for (int policy = MEM_DEFAULT; policy <= MEM_INTERLEAVE; policy++)
        if (!strcmp(json_value_text_of(json, "mem_policy"),
                    mem_policy_name((enum mem_policy)policy)))
            worker->mem_policy = (enum mem_policy)policy;
    text_set(worker->host, "%s", json_value_text_of(json, "host"));
    const json_t *gpu = json_object_get(json, "gpu");
    unsigned ordinal = json_value_count_of(gpu, "cuda_ordinal");
    worker->gpu = json_is_object(gpu) && ordinal < BITSET_BITS ? (int)ordinal : -1;
    int rc = json_value_text_of(json, "mem_nodes")[0]
                 ? bitset_parse(json_value_text_of(json, "mem_nodes"), &worker->mem_nodes, err)
                 : 0;
    return rc ? rc : bitset_parse(json_value_text_of(json, "cpus"), &worker->cpus, err);
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

#include "harness/store/json/machine.h"

#include <stddef.h>
#include <stdlib.h>

#include "harness/machine/topo/topo_check.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/health.h"
#include "harness/store/json/value.h"

json_t *bitset_to_json(const struct bitset *set)
{
    char *list = malloc(BITSET_LIST_MAX);
    json_t *json = list ? json_string(bitset_format(set, list, BITSET_LIST_MAX)) : NULL;
    free(list);
    return json;
}

static json_t *cpus_to_json(const struct topo *topo)
{
    struct bitset all = {0}, allowed = {0};
    for (unsigned i = 0; i < topo->ncpus; i++)
        bitset_set(&all, topo->cpus[i].os_cpu);
    topo_allowed_cpus(topo, &allowed);
    return json_pack("{s:i, s:o, s:o}", "count", (int)topo->ncpus, "all", bitset_to_json(&all),
                     "allowed", bitset_to_json(&allowed));
}

static json_t *smt_to_json(const struct topo *topo)
{
    unsigned min = 0, max = 0;
    topo_threads_per_core(topo, &min, &max);
    return json_pack("{s:i, s:i}", "min", (int)min, "max", (int)max);
}

static json_t *kinds_to_json(const struct topo *topo)
{
    json_t *kinds = json_array();
    for (unsigned kind = 0; kind < topo->nkinds; kind++) {
        struct bitset cpus = {0};
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (topo->cpus[i].kind == (int)kind)
                bitset_set(&cpus, topo->cpus[i].os_cpu);
        (void)json_array_append_new(
            kinds, json_pack("{s:i, s:o}", "kind", (int)kind, "cpus", bitset_to_json(&cpus)));
    }
    return kinds;
}

static json_t *caches_to_json(const struct topo *topo)
{
    json_t *caches = json_array();
    for (unsigned i = 0; i < topo->ncaches; i++) {
        const struct topo_cache *cache = &topo->caches[i];
        (void)json_array_append_new(caches,
                                    json_pack("{s:i, s:I, s:i, s:i}", "level", cache->level,
                                              "size_bytes", (json_int_t)cache->size_bytes, "count",
                                              (int)cache->count, "cpus", (int)cache->cpus));
    }
    return caches;
}

static json_t *nodes_to_json(const struct topo *topo)
{
    json_t *nodes = json_array();
    for (unsigned i = 0; i < topo->nnodes; i++) {
        const struct topo_node *node = &topo->nodes[i];
        json_t *memory =
            node->memory_bytes ? json_integer((json_int_t)node->memory_bytes) : json_null();
        (void)json_array_append_new(
            nodes, json_pack("{s:i, s:o, s:o, s:b, s:o}", "node", (int)node->os_node, "kind",
                             json_value_text(node->kind), "memory_bytes", memory, "allowed",
                             node->allowed, "cpus", bitset_to_json(&node->cpus)));
    }
    return nodes;
}

static json_t *distances_to_json(const struct topo *topo)
{
    if (!topo->distances)
        return json_null();
    json_t *rows = json_array();
    for (unsigned from = 0; from < topo->nnodes; from++) {
        json_t *row = json_array();
        for (unsigned to = 0; to < topo->nnodes; to++)
            (void)json_array_append_new(
                row, json_integer(topo->distances[(size_t)from * topo->nnodes + to]));
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *gpus_to_json(const struct topo *topo)
{
    json_t *gpus = json_array();
    for (unsigned i = 0; i < topo->ngpus; i++) {
        const struct topo_gpu *gpu = &topo->gpus[i];
        bool visible = gpu->cuda_ordinal >= 0, known = gpu->node >= 0;
        char subject[64];
        (void)json_array_append_new(
            gpus,
            json_pack(
                "{s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "pci_bdf", gpu->pci_bdf,
                "cuda_ordinal", visible ? json_integer(gpu->cuda_ordinal) : json_null(), "name",
                json_value_text(gpu->name), "uuid", json_value_text(gpu->uuid), "node",
                known ? json_integer(topo->nodes[gpu->node].os_node) : json_null(), "node_source",
                topo_source_name(gpu->source), "cpus", bitset_to_json(&gpu->cpus), "note",
                json_value_text(gpu->note), "health",
                gpu_health_to_json(gpu->health, topo_gpu_name(gpu, subject, sizeof(subject)))));
    }
    return gpus;
}

static json_t *mark_to_json(const char *text)
{
    char mark[MACHINE_KEY_MAX];
    return json_value_text_or_null(machine_mark(text, mark));
}

static json_t *machine_gpus_to_json(const struct machine_parts *parts)
{
    json_t *gpus = json_array();
    for (unsigned i = 0; i < parts->ngpus; i++) {
        const struct machine_gpu *gpu = &parts->gpus[i];
        (void)json_array_append_new(gpus, json_pack("{s:o, s:o, s:o, s:o}", "name",
                                                    json_value_text_or_null(gpu->name), "vbios",
                                                    json_value_text_or_null(gpu->vbios), "uuid",
                                                    mark_to_json(gpu->uuid), "pci_bdf",
                                                    json_value_text_or_null(gpu->pci_bdf)));
    }
    return gpus;
}

json_t *machine_to_json(const struct machine_parts *parts)
{
    struct machine_key key;
    machine_key_make(parts, &key);
    json_t *json = json_pack(
        "{s:o, s:o, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "arch",
        json_value_text_or_null(parts->arch), "vendor", json_value_text_or_null(parts->vendor),
        "product", json_value_text_or_null(parts->product), "cpu_model",
        json_value_text_or_null(parts->cpu_model), "packages", (int)parts->packages, "cores",
        (int)parts->cores, "cpus", (int)parts->cpus, "nodes", (int)parts->nodes, "board",
        json_value_text_or_null(parts->board), "bios", json_value_text_or_null(parts->bios),
        "microcode", json_value_text_or_null(parts->microcode), "uuid", mark_to_json(parts->uuid),
        "id", mark_to_json(parts->id), "gpus", machine_gpus_to_json(parts));
    return json_pack("{s:s, s:s, s:o, s:o}", "key", key.key, "kind", key.kind, "identity",
                     json_value_text_or_null(key.identity), "parts", json);
}

/* CPUs by one of their indices, the int at `offset` of struct topo_cpu, which is below n. */
static json_t *sets_to_json(const struct topo *topo, size_t offset, unsigned n)
{
    json_t *sets = json_array();
    for (unsigned set = 0; set < n; set++) {
        struct bitset cpus = {0};
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (*(const int *)(const void *)((const char *)&topo->cpus[i] + offset) == (int)set)
                bitset_set(&cpus, topo->cpus[i].os_cpu);
        (void)json_array_append_new(sets, bitset_to_json(&cpus));
    }
    return sets;
}

static json_t *all_sets_to_json(const struct topo *topo)
{
    return json_pack("{s:o, s:o, s:o}", "packages",
                     sets_to_json(topo, offsetof(struct topo_cpu, package), topo->npackages),
                     "llcs", sets_to_json(topo, offsetof(struct topo_cpu, llc), topo->nllcs),
                     "cores", sets_to_json(topo, offsetof(struct topo_cpu, core), topo->ncores));
}

static json_t *check_to_json(const struct topo *topo)
{
    struct findings findings = {0};
    struct err err;
    json_t *array = topo_check(topo, &findings, &err) ? NULL : findings_to_json(&findings);
    findings_free(&findings);
    return array;
}

json_t *topo_to_json(const struct topo *topo)
{
    return json_pack("{s:o, s:o, s:b, s:o, s:o, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, "
                     "s:o, s:o, s:o}",
                     "origin", json_value_text(topo->origin), "cpu_model",
                     json_value_text(topo->cpu_model), "hypervisor", topo->hypervisor, "cpus",
                     cpus_to_json(topo), "cpu_sets", all_sets_to_json(topo), "cores",
                     (int)topo->ncores, "packages", (int)topo->npackages, "llcs", (int)topo->nllcs,
                     "llc_level", (int)topo->llc_level, "threads_per_core", smt_to_json(topo),
                     "core_kinds", kinds_to_json(topo), "caches", caches_to_json(topo), "nodes",
                     nodes_to_json(topo), "distances", distances_to_json(topo), "gpus",
                     gpus_to_json(topo), "gpu_note", json_value_text(topo->gpu_note), "cuda_driver",
                     topo->cuda_driver ? json_sprintf("%d.%d", topo->cuda_driver / 1000,
                                                      topo->cuda_driver % 1000 / 10)
                                       : json_null(),
                     "findings", check_to_json(topo));
}

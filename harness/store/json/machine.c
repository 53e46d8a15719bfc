#include "harness/store/json/machine.h"

#include <stddef.h>

#include "harness/machine/topo/topo_check.h"
#include "harness/machine/topo/topo_gpu.h"
#include "harness/store/json/findings.h"
#include "harness/store/json/health.h"
#include "harness/store/json/value.h"

static json_t *cpus_to_json(const struct topo *topo)
{
    struct bitset all = {0}, allowed = {0};
    for (unsigned i = 0; i < topo->ncpus; i++)
        bitset_set(&all, topo->cpus[i].os_cpu);
    topo_allowed_cpus(topo, &allowed);
    return json_value_object("count:i all:c allowed:c", topo->ncpus, &all, &allowed);
}

/* CPUs by one of their indices, the int at `offset` of struct topo_cpu. */
static struct bitset cpus_of(const struct topo *topo, size_t offset, size_t index)
{
    struct bitset cpus = {0};
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (*(const int *)(const void *)((const char *)&topo->cpus[i] + offset) == (int)index)
            bitset_set(&cpus, topo->cpus[i].os_cpu);
    return cpus;
}

static json_t *kind_at(const void *of, size_t kind)
{
    const struct bitset cpus = cpus_of(of, offsetof(struct topo_cpu, kind), kind);
    return json_value_object("kind:z cpus:c", kind, &cpus);
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

static json_t *cache_at(const void *of, size_t i)
{
    const struct topo_cache *cache = &((const struct topo *)of)->caches[i];
    return json_value_object("level:i size_bytes:I count:i cpus:i", cache->level,
                             (int64_t)cache->size_bytes, (int)cache->count, (int)cache->cpus);
}

static json_t *node_at(const void *of, size_t i)
{
    const struct topo_node *node = &((const struct topo *)of)->nodes[i];
    return json_value_object(
        "node:i kind:t memory_bytes:N allowed:b cpus:c", (int)node->os_node, node->kind,
        node->memory_bytes ? (int64_t)node->memory_bytes : (int64_t)-1, node->allowed, &node->cpus);
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

static json_t *gpu_at(const void *of, size_t i)
{
    const struct topo *topo = of;
    const struct topo_gpu *gpu = &topo->gpus[i];
    char subject[64];
    return json_value_object(
        "pci_bdf:t cuda_ordinal:n name:t uuid:t node:n node_source:t cpus:c note:t health:o",
        gpu->pci_bdf, gpu->cuda_ordinal, gpu->name, gpu->uuid,
        gpu->node < 0 ? -1 : (int)topo->nodes[gpu->node].os_node, topo_source_name(gpu->source),
        &gpu->cpus, gpu->note,
        gpu_health_to_json(gpu->health, topo_gpu_name(gpu, subject, sizeof(subject))));
}

static json_t *machine_gpu_at(const void *of, size_t i)
{
    const struct machine_gpu *gpu = &((const struct machine_parts *)of)->gpus[i];
    char mark[MACHINE_KEY_MAX];
    return json_value_object("name:T vbios:T uuid:T pci_bdf:T", gpu->name, gpu->vbios,
                             machine_mark(gpu->uuid, mark), gpu->pci_bdf);
}

json_t *machine_to_json(const struct machine_parts *parts)
{
    struct machine_key key;
    char uuid[MACHINE_KEY_MAX], id[MACHINE_KEY_MAX];
    machine_key_make(parts, &key);
    return json_value_object(
        "key:t kind:t identity:T parts:o", key.key, key.kind, key.identity,
        json_value_object(
            "arch:T vendor:T product:T cpu_model:T packages:i cores:i cpus:i nodes:i board:T "
            "bios:T microcode:T uuid:T id:T gpus:o",
            parts->arch, parts->vendor, parts->product, parts->cpu_model, parts->packages,
            parts->cores, parts->cpus, parts->nodes, parts->board, parts->bios, parts->microcode,
            machine_mark(parts->uuid, uuid), machine_mark(parts->id, id),
            json_value_array(parts, parts->ngpus, machine_gpu_at)));
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
        json_value_object("min:i max:i", min, max), json_value_array(topo, topo->nkinds, kind_at),
        json_value_array(topo, topo->ncaches, cache_at),
        json_value_array(topo, topo->nnodes, node_at), distances_to_json(topo),
        json_value_array(topo, topo->ngpus, gpu_at), topo->gpu_note,
        topo->cuda_driver
            ? json_sprintf("%d.%d", topo->cuda_driver / 1000, topo->cuda_driver % 1000 / 10)
            : json_null(),
        check_to_json(topo));
}

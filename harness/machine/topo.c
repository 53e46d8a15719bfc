/* Queries of a loaded topology. */
#include <stdlib.h>
#include <string.h>

#include "harness/machine/topo.h"

void topo_free(struct topo *topo)
{
    if (!topo)
        return;
    free(topo->cpus);
    free(topo->nodes);
    for (unsigned i = 0; i < topo->ngpus; i++)
        free(topo->gpus[i].health);
    free(topo->gpus);
    free(topo->distances);
    memset(topo, 0, sizeof(*topo));
}

void topo_allowed_cpus(const struct topo *topo, struct bitset *set)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].allowed)
            bitset_set(set, topo->cpus[i].os_cpu);
}

int topo_node_index(const struct topo *topo, unsigned os_node)
{
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (topo->nodes[i].os_node == os_node)
            return (int)i;
    return -1;
}

bool topo_has_memory(const struct topo *topo, unsigned node)
{
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (topo->nodes[i].memory_bytes)
            return topo->nodes[node].memory_bytes > 0;
    return !topo->nodes[node].unlisted;
}

unsigned topo_visible_gpus(const struct topo *topo)
{
    unsigned n = 0;
    while (n < topo->ngpus && topo->gpus[n].cuda_ordinal >= 0)
        n++;
    return n;
}

static bool is_before_on_bus(const struct topo_gpu *gpu, const struct topo_gpu *other)
{
    size_t length = strlen(gpu->pci_bdf), others = strlen(other->pci_bdf);
    return length == others ? strcmp(gpu->pci_bdf, other->pci_bdf) < 0 : length < others;
}

unsigned topo_gpu_bus_number(const struct topo *topo, const struct topo_gpu *gpu)
{
    unsigned before = 0, visible = topo_visible_gpus(topo);
    for (unsigned i = 0; i < visible; i++)
        before += is_before_on_bus(&topo->gpus[i], gpu);
    return before;
}

bool topo_next_core(const struct topo *topo, unsigned *at, struct bitset *core)
{
    unsigned first = *at;
    *core = (struct bitset){0};
    for (; *at < topo->ncpus && topo->cpus[*at].core == topo->cpus[first].core; (*at)++)
        bitset_set(core, topo->cpus[*at].os_cpu);
    return *at > first;
}

const char *topo_kind_name(const struct topo *topo, int kind)
{
    bool weakest = kind == 0, two = topo->nkinds == 2;
    return weakest                        ? (two ? "efficiency" : "slowest")
           : kind < (int)topo->nkinds - 1 ? "middle"
                                          : (two ? "performance" : "fastest");
}

bool topo_mixes_cores(const struct topo *topo, const struct bitset *cpus)
{
    int first = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        if (!bitset_test(cpus, topo->cpus[i].os_cpu))
            continue;
        first = first < 0 ? topo->cpus[i].kind : first;
        if (topo->cpus[i].kind != first)
            return true;
    }
    return false;
}

void topo_threads_per_core(const struct topo *topo, unsigned *min, unsigned *max)
{
    *min = *max = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        bool last = i + 1 == topo->ncpus || topo->cpus[i + 1].core != topo->cpus[i].core;
        unsigned threads = (unsigned)topo->cpus[i].smt + 1;
        if (last && (*min == 0 || threads < *min))
            *min = threads;
        if (last && threads > *max)
            *max = threads;
    }
}

const char *topo_source_name(enum topo_source source)
{
    static const char *const names[] = {[TOPO_UNKNOWN] = "unknown",
                                        [TOPO_SYSFS] = "sysfs",
                                        [TOPO_NVML] = "nvml",
                                        [TOPO_HWLOC] = "hwloc",
                                        [TOPO_OPTION] = "option"};
    return names[source];
}

#include "harness/machine/topo_nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * The nearest of a CPU's local nodes with memory: ordinary memory comes first, then the fewest
 * CPUs. `weights` has the number of local CPUs of each node. -1: no local node has memory.
 */
static int local_node(const struct topo *topo, const unsigned *weights, unsigned os_cpu)
{
    int best = -1;
    for (unsigned i = 0; i < topo->nnodes; i++) {
        const struct topo_node *node = &topo->nodes[i];
        if (!bitset_test(&node->cpus, os_cpu) || !topo_has_memory(topo, i))
            continue;
        bool special = node->kind[0], best_special = best >= 0 && topo->nodes[best].kind[0];
        if (best < 0 || special < best_special ||
            (special == best_special && weights[i] < weights[best]))
            best = (int)i;
    }
    return best;
}

int topo_own_node(const struct topo *topo, const struct topo_cpu *cpu)
{
    if (cpu->node >= 0 && cpu->node < (int)topo->nnodes &&
        bitset_test(&topo->nodes[cpu->node].cpus, cpu->os_cpu))
        return cpu->node;
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (bitset_test(&topo->nodes[i].cpus, cpu->os_cpu))
            return (int)i;
    return -1;
}

int topo_node_of_cpus(const struct topo *topo, const struct bitset *cpus)
{
    int node = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        if (!bitset_test(cpus, topo->cpus[i].os_cpu))
            continue;
        int own = topo_own_node(topo, &topo->cpus[i]);
        if (own < 0 || (node >= 0 && own != node))
            return -1;
        node = own;
    }
    return node;
}

static bool may_use(const struct topo *topo, unsigned node, bool only_allowed)
{
    return only_allowed ? topo->nodes[node].allowed : topo_has_memory(topo, node);
}

/* Orders candidates for the memory of node `own`: ordinary memory, then distance, then package. */
static uint64_t farness(const struct topo *topo, int own, unsigned node)
{
    const struct topo_node *to = &topo->nodes[node];
    bool known = own >= 0;
    uint64_t distance =
        known && topo->distances ? topo->distances[(size_t)own * topo->nnodes + node] : 0;
    bool elsewhere = known && topo->nodes[own].package != to->package;
    return (uint64_t)(to->kind[0] != '\0') << 34 | distance << 1 | elsewhere;
}

/* See topo_memory_node. Without `only_allowed`, any node with memory. */
static int find_memory(const struct topo *topo, int own, bool only_allowed)
{
    uint64_t least = UINT64_MAX;
    unsigned ties = 0, turn = 0;
    if (own >= 0 && may_use(topo, (unsigned)own, only_allowed))
        return own;
    for (unsigned i = 0; i < topo->nnodes; i++) {
        if (!may_use(topo, i, only_allowed)) {
            turn += (int)i < own && !bitset_empty(&topo->nodes[i].cpus);
            continue;
        }
        uint64_t far = farness(topo, own, i);
        ties = far < least ? 1 : ties + (far == least);
        least = far < least ? far : least;
    }
    turn = ties ? turn % ties : 0;
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (may_use(topo, i, only_allowed) && farness(topo, own, i) == least && turn-- == 0)
            return (int)i;
    return -1;
}

int topo_memory_node(const struct topo *topo, int own)
{
    return find_memory(topo, own, true);
}

static void find_packages(struct topo *topo)
{
    for (unsigned i = 0; i < topo->nnodes; i++)
        topo->nodes[i].package = -1;
    for (unsigned i = topo->ncpus; i-- > 0;)
        for (unsigned n = 0; n < topo->nnodes; n++)
            if (bitset_test(&topo->nodes[n].cpus, topo->cpus[i].os_cpu))
                topo->nodes[n].package = topo->cpus[i].package;
}

int topo_nearest_nodes(struct topo *topo, struct err *err)
{
    unsigned *weights = calloc(topo->nnodes + 1, sizeof(*weights));
    bool *nearest = calloc(topo->nnodes + 1, sizeof(*nearest));
    if (!weights || !nearest) {
        free(weights);
        free(nearest);
        return err_set(err, -ENOMEM, "no memory for %u NUMA nodes", topo->nnodes);
    }
    find_packages(topo);
    for (unsigned i = 0; i < topo->nnodes; i++)
        weights[i] = bitset_count(&topo->nodes[i].cpus);
    for (unsigned i = 0; i < topo->ncpus; i++) {
        struct topo_cpu *cpu = &topo->cpus[i];
        cpu->node = local_node(topo, weights, cpu->os_cpu);
        if (cpu->node < 0)
            cpu->node = find_memory(topo, topo_own_node(topo, cpu), false);
        if (cpu->node >= 0)
            nearest[cpu->node] = true;
    }
    /* hwloc gives memory-only nodes the CPUs around them; here they have no CPUs. */
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (!nearest[i] && topo_has_memory(topo, i)) {
            topo->nodes[i].cpus = (struct bitset){0};
            topo->nodes[i].package = -1;
        }
    free(weights);
    free(nearest);
    return 0;
}

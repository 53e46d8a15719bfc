#include "harness/machine/topo/topo_nearest.h"

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

/* For a CPU whose own node has no memory: the nearest node, else the only one, else -1. */
static int remote_node(const struct topo *topo, unsigned os_cpu)
{
    int own = -1, best = -1;
    unsigned candidates = 0;
    for (unsigned i = 0; i < topo->nnodes && own < 0; i++)
        if (bitset_test(&topo->nodes[i].cpus, os_cpu))
            own = (int)i;
    for (unsigned i = 0; i < topo->nnodes; i++) {
        if (!topo_has_memory(topo, i) || topo->nodes[i].kind[0])
            continue;
        const unsigned *row =
            topo->distances && own >= 0 ? topo->distances + (size_t)own * topo->nnodes : NULL;
        candidates++;
        if (best < 0 || (row && row[i] < row[best]))
            best = (int)i;
    }
    return candidates == 1 || (topo->distances && own >= 0) ? best : -1;
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
    for (unsigned i = 0; i < topo->nnodes; i++)
        weights[i] = bitset_count(&topo->nodes[i].cpus);
    for (unsigned i = 0; i < topo->ncpus; i++) {
        struct topo_cpu *cpu = &topo->cpus[i];
        cpu->node = local_node(topo, weights, cpu->os_cpu);
        if (cpu->node < 0)
            cpu->node = remote_node(topo, cpu->os_cpu);
        if (cpu->node >= 0)
            nearest[cpu->node] = true;
    }
    /* hwloc gives memory-only nodes the CPUs around them; here they have no CPUs. */
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (!nearest[i] && topo_has_memory(topo, i))
            memset(&topo->nodes[i].cpus, 0, sizeof(topo->nodes[i].cpus));
    free(weights);
    free(nearest);
    return 0;
}

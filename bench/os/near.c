#include "bench/os/near.h"

#include <errno.h>

const char *const near_names[] = {"all", "sibling", "cache", "node", "remote", NULL};

static const char *const wanted[NEARS] = {
    [NEAR_SIBLING] = "another thread of its core",
    [NEAR_CACHE] = "another core under its last-level cache",
    [NEAR_NODE] = "another last-level cache of its NUMA node",
    [NEAR_REMOTE] = "another NUMA node",
};

static enum near distance(const struct bench_cpu *a, const struct bench_cpu *b)
{
    if (a->core == b->core)
        return NEAR_SIBLING;
    if (a->os_node != b->os_node || a->package != b->package)
        return NEAR_REMOTE;
    return a->llc == b->llc ? NEAR_CACHE : NEAR_NODE;
}

int near_find(const struct bench_machine *machine, enum near near, unsigned *place, struct err *err)
{
    const struct bench_cpu *first = &machine->cpus[0];
    for (unsigned i = 1; i < machine->ncpus; i++)
        if (distance(first, &machine->cpus[i]) == near) {
            *place = i;
            return 0;
        }
    return err_set(err, -ENOTSUP, "of the CPUs to use beside CPU %u none is %s", first->os_cpu,
                   wanted[near]);
}

#include "harness/plan/space.h"

const struct topo_cpu *space_first_cpu(const struct plan_space *space)
{
    const struct topo_cpu *cpu = space->topo->cpus;
    while (!bitset_test(&space->available, cpu->os_cpu))
        cpu++;
    return cpu;
}

/* The next usable CPU at index *i or later; advances *i past it. NULL = no more. */
static const struct topo_cpu *next_cpu(const struct plan_space *space, unsigned *i)
{
    while (*i < space->topo->ncpus) {
        const struct topo_cpu *cpu = &space->topo->cpus[(*i)++];
        if (bitset_test(&space->available, cpu->os_cpu))
            return cpu;
    }
    return NULL;
}

/* Relies on siblings being neighbours in the topology. */
unsigned space_count_cores(const struct plan_space *space)
{
    unsigned n = 0, i = 0;
    int last = -1;
    for (const struct topo_cpu *cpu; (cpu = next_cpu(space, &i)); last = cpu->core)
        n += cpu->core != last;
    return n;
}

struct bitset space_llc_cpus(const struct plan_space *space)
{
    struct bitset cpus = {0};
    const struct topo_cpu *cpu;
    for (unsigned i = 0; (cpu = next_cpu(space, &i));)
        if (cpu->llc < (int)space->topo->nllcs)
            bitset_set(&cpus, cpu->os_cpu);
    return cpus;
}

bool space_has_one_llc(const struct plan_space *space)
{
    const struct bitset cpus = space_llc_cpus(space);
    const struct topo_cpu *cpu;
    int first = -1;
    for (unsigned i = 0; (cpu = next_cpu(space, &i));) {
        if (!bitset_test(&cpus, cpu->os_cpu))
            continue;
        if (first >= 0 && cpu->llc != first)
            return false;
        first = cpu->llc;
    }
    return true;
}

bool space_is_uniform(const struct plan_space *space)
{
    const struct topo_cpu *first = space_first_cpu(space), *cpu;
    for (unsigned i = 0; (cpu = next_cpu(space, &i));)
        if (cpu->llc != first->llc || cpu->node != first->node || cpu->kind != first->kind)
            return false;
    return true;
}

/* False if `partition` has no plan. The caller frees *plan in both cases. */
static bool make_partition(const struct plan_space *space, struct plan *plan)
{
    struct err err;
    const struct plan_request request = {
        .placement = PLACE_PARTITION,
        .workers = space->request->workers,
        .background = space->request->background,
        .cores_each = space->request->cores_each ? PLAN_CORES_ALL : 0,
        .cpus = space->available,
    };
    return !plan_make(space->topo, &request, plan, &err);
}

static bool keeps_cores(const struct plan_space *space, const struct plan *plan)
{
    const struct topo_cpu *cpu;
    const struct plan_worker *owner = NULL;
    int last = -1;
    for (unsigned i = 0; (cpu = next_cpu(space, &i)); last = cpu->core) {
        if (cpu->core == last && !bitset_test(&owner->cpus, cpu->os_cpu))
            return false;
        for (unsigned w = 0; w < plan->nworkers; w++)
            if (bitset_test(&plan->workers[w].cpus, cpu->os_cpu))
                owner = &plan->workers[w];
    }
    return true;
}

bool space_partition_keeps_cores(const struct plan_space *space)
{
    struct plan partition;
    bool keeps = make_partition(space, &partition) && keeps_cores(space, &partition);
    plan_free(&partition);
    return keeps;
}

bool space_partition_equals(const struct plan_space *space, const struct plan *plan)
{
    struct plan partition;
    bool equal = make_partition(space, &partition);
    for (unsigned w = 0; w < plan->nworkers && equal; w++)
        equal = bitset_equal(&partition.workers[w].cpus, &plan->workers[w].cpus);
    plan_free(&partition);
    return equal;
}

#include "harness/plan/slices.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static bool same_unit(enum unit_kind kind, const struct topo_cpu *a, const struct topo_cpu *b)
{
    switch (kind) {
    case UNIT_CPU:
        return false;
    case UNIT_CORE:
    case UNIT_THREAD:
        return a->core == b->core;
    case UNIT_LLC:
        return a->llc == b->llc;
    }
    return false;
}

static int compare_os_cpu(const void *a, const void *b)
{
    const struct topo_cpu *x = *(const struct topo_cpu *const *)a;
    const struct topo_cpu *y = *(const struct topo_cpu *const *)b;
    return (x->os_cpu > y->os_cpu) - (x->os_cpu < y->os_cpu);
}

/* Lists the available CPUs in the order in which this kind of unit is assigned. Returns
 * how many. */
static unsigned list_cpus(const struct topo *topo, const struct bitset *available,
                          enum unit_kind kind, const struct topo_cpu **list)
{
    unsigned n = 0;
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (bitset_test(available, topo->cpus[i].os_cpu))
            list[n++] = &topo->cpus[i];
    if (kind == UNIT_CPU && n)
        qsort(list, n, sizeof(const struct topo_cpu *), compare_os_cpu);
    return n;
}

int units_make(const struct topo *topo, const struct bitset *available, enum unit_kind kind,
               struct units *units, struct err *err)
{
    const struct topo_cpu **list = calloc(topo->ncpus + 1, sizeof(const struct topo_cpu *));
    *units = (struct units){.unit = calloc(topo->ncpus + 1, sizeof(*units->unit)),
                            .os_cpu = calloc(topo->ncpus + 1, sizeof(*units->os_cpu))};
    if (!list || !units->unit || !units->os_cpu) {
        free(list);
        return err_set(err, -ENOMEM, "no memory to plan %u CPUs", topo->ncpus);
    }
    unsigned n = list_cpus(topo, available, kind, list), used = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct topo_cpu *cpu = list[i];
        bool more = i && same_unit(kind, list[i - 1], cpu);
        if (more && kind == UNIT_THREAD)
            continue;
        if (!more)
            units->unit[units->n++] = (struct unit){.first = used,
                                                    .llc = cpu->llc,
                                                    .package = cpu->package,
                                                    .node = topo_own_node(topo, cpu),
                                                    .kind = cpu->kind};
        units->unit[units->n - 1].ncpus++;
        units->os_cpu[used++] = cpu->os_cpu;
    }
    free(list);
    return 0;
}

void units_free(struct units *units)
{
    free(units->unit);
    free(units->os_cpu);
    *units = (struct units){0};
}

void units_give(const struct units *units, unsigned unit, struct plan_worker *worker)
{
    const struct unit *given = &units->unit[unit];
    for (unsigned i = 0; i < given->ncpus; i++)
        bitset_set(&worker->cpus, units->os_cpu[given->first + i]);
}

void units_assign_blocks(const struct units *units, unsigned first, unsigned count,
                         struct plan_worker *const *workers, unsigned nworkers)
{
    for (unsigned w = 0, next = first; w < nworkers; w++) {
        unsigned share = count / nworkers + (w < count % nworkers);
        while (share--)
            units_give(units, next++, workers[w]);
    }
}

void units_assign_round_robin(const struct units *units, struct plan_worker *workers,
                              unsigned nworkers)
{
    for (unsigned i = 0; i < units->n; i++)
        units_give(units, i, &workers[i % nworkers]);
}

static int compare_node(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

int units_group(struct units *units, bool by_node, struct group **groups, struct err *err)
{
    int n = 0;
    *groups = calloc(units->n + 1, sizeof(**groups));
    if (!*groups)
        return err_set(err, -ENOMEM, "no memory to group %u units", units->n);
    /* The topology's order keeps the CPUs of a cache together, but not those of a node. */
    if (by_node && units->n)
        qsort(units->unit, units->n, sizeof(*units->unit), compare_node);
    for (unsigned i = 0; i < units->n; i++) {
        int key = by_node ? units->unit[i].node : units->unit[i].llc;
        if (key < 0)
            continue;
        if (!n || (*groups)[n - 1].key != key)
            (*groups)[n++] = (struct group){.key = key, .node = units->unit[i].node, .first = i};
        (*groups)[n - 1].count++;
    }
    return n;
}

/* True if `a` is the better home for one more worker: see groups_fill. */
static bool offers_more(const struct group *a, const struct group *b)
{
    uint64_t share_a = (uint64_t)a->count * (b->workers + 1);
    uint64_t share_b = (uint64_t)b->count * (a->workers + 1);
    bool empty_a = a->workers == 0, empty_b = b->workers == 0;
    if (empty_a != empty_b)
        return empty_a;
    if (empty_a && a->far_memory != b->far_memory)
        return b->far_memory;
    if (empty_a && !a->wanted != !b->wanted)
        return a->wanted;
    return share_a > share_b || (share_a == share_b && a->workers < b->workers);
}

/* Assigns workers to vacant places on the nodes that they want; if a node has several groups, to
 * the group with the most vacant places. The others get home[w] = ngroups. */
static void give_wanted(struct group *groups, unsigned ngroups, unsigned nworkers,
                        const int *wanted, unsigned *home)
{
    for (unsigned w = 0; w < nworkers; w++) {
        struct group *best = NULL;
        home[w] = ngroups;
        for (unsigned g = 0; wanted && wanted[w] >= 0 && g < ngroups; g++)
            if (groups[g].node == wanted[w] && groups[g].vacant > (best ? best->vacant : 0))
                best = &groups[g];
        if (!best)
            continue;
        best->vacant--;
        home[w] = (unsigned)(best - groups);
    }
}

void groups_fill(struct group *groups, unsigned ngroups, unsigned nworkers, const int *wanted,
                 unsigned *home)
{
    assert(ngroups > 0);
    for (unsigned w = 0; wanted && w < nworkers; w++)
        for (unsigned g = 0; g < ngroups; g++)
            groups[g].wanted += wanted[w] >= 0 && groups[g].node == wanted[w];
    for (unsigned w = 0; w < nworkers; w++) {
        struct group *best = &groups[0];
        for (unsigned g = 1; g < ngroups; g++)
            if (offers_more(&groups[g], best))
                best = &groups[g];
        /* A full group offers less than one unit: it is only chosen when all are full. */
        assert(best->workers < best->count);
        best->workers++;
        best->vacant++;
        for (unsigned g = 0; g < ngroups; g++)
            groups[g].wanted -= groups[g].wanted && groups[g].node == best->node;
    }
    give_wanted(groups, ngroups, nworkers, wanted, home);
    for (unsigned w = 0, g = 0; w < nworkers; w++)
        if (home[w] == ngroups) {
            while (!groups[g].vacant)
                g = (g + 1) % ngroups;
            groups[g].vacant--;
            home[w] = g;
            g = (g + 1) % ngroups;
        }
}

int groups_assign(const struct units *units, const struct group *groups, unsigned ngroups,
                  const unsigned *home, struct plan *plan, struct err *err)
{
    struct plan_worker **hosted = calloc(plan->nworkers, sizeof(struct plan_worker *));
    if (!hosted)
        return err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    for (unsigned g = 0; g < ngroups; g++) {
        unsigned n = 0;
        for (unsigned w = 0; w < plan->nworkers; w++)
            if (home[w] == g)
                hosted[n++] = &plan->workers[w];
        if (n)
            units_assign_blocks(units, groups[g].first, groups[g].count, hosted, n);
    }
    free(hosted);
    return 0;
}

/* The first usable CPU in topology order; never NULL. */
static const struct topo_cpu *space_first_cpu(const struct plan_space *space)
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

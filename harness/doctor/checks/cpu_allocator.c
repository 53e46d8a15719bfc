#include "harness/doctor/checks/cpu_allocator.h"

#include <string.h>

#include "harness/doctor/reader/host.h"
#include "harness/plan/plan.h"

/* Share of the time: a CPU that idled at least this much has room for a thread. */
static const double idle_least = 0.8;

/* The GPUs of all processes of the group. */
static uint64_t gpus_of(const struct checker *checker, size_t group)
{
    uint64_t gpus = 0;
    for (size_t i = 0; i < checker->view->nprocesses; i++)
        if (checker->group_of[i] == (int)group)
            gpus |= checker->view->processes[i].gpus;
    return gpus;
}

void allocate_home(const struct checker *checker, size_t group, struct bitset *cpus)
{
    const struct view *view = checker->view;
    const struct check_group *one = &checker->groups[group];
    uint64_t gpus = gpus_of(checker, group);
    struct bitset allowed;
    *cpus = (struct bitset){0};
    view_allowed_cpus(view, one->lead, &allowed);
    for (size_t g = 0; g < view->ngpus; g++)
        if (gpus >> g & 1)
            bitset_or(cpus, &view->gpus[g].cpus);
    bitset_and(cpus, &allowed);
    bool is_known = !bitset_empty(cpus);
    for (size_t node = 0; !is_known && node < view->nnodes; node++)
        if (bitset_intersects(&one->cpus, &view->node_cpus[node]))
            bitset_or(cpus, &view->node_cpus[node]);
    if (bitset_empty(cpus))
        *cpus = view->online;
    bitset_and(cpus, &allowed);
}

/* Adds the CPUs that other groups are bound to. */
static void add_taken(const struct checker *checker, size_t group, struct bitset *taken)
{
    for (size_t g = 0; g < checker->ngroups; g++)
        if (g != group && !bitset_subset(&checker->view->online, &checker->groups[g].cpus))
            bitset_or(taken, &checker->groups[g].cpus);
}

void allocate_spare(const struct checker *checker, size_t group, unsigned least,
                    struct bitset *cpus)
{
    struct bitset taken = {0}, left = *cpus;
    add_taken(checker, group, &taken);
    bitset_andnot(&left, &taken);
    if (!bitset_empty(&left) && bitset_count(&left) >= least)
        *cpus = left;
}

bool allocate_is_idle(const struct view *view, const struct bitset *cpus)
{
    return view_idle_s(view, cpus) > idle_least * view->wall_s * bitset_count(cpus);
}

/* The CPUs of the core of os_cpu; os_cpu alone if the topology is unknown. */
static void find_core(const struct topo *topo, unsigned os_cpu, struct bitset *core)
{
    for (unsigned at = 0; topo && topo_next_core(topo, &at, core);)
        if (bitset_test(core, os_cpu))
            return;
    *core = (struct bitset){0};
    bitset_set(core, os_cpu);
}

bool allocate_idle(struct checker *checker, size_t group, unsigned want, struct bitset *room)
{
    const struct view *view = checker->view;
    const struct topo *topo = host_topo(view);
    struct bitset home, taken = checker->cpus_given, found = {0};
    unsigned n = 0;
    allocate_home(checker, group, &home);
    add_taken(checker, group, &taken);
    bitset_andnot(&home, &taken);
    bitset_andnot(&home, room);
    for (int whole = 1; whole >= 0; whole--)
        for (int cpu = bitset_next(&home, 0); cpu >= 0 && n < want;
             cpu = bitset_next(&home, (unsigned)cpu + 1)) {
            struct bitset wanted;
            find_core(whole ? topo : NULL, (unsigned)cpu, &wanted);
            if (bitset_intersects(&wanted, &found) || bitset_intersects(&wanted, &taken) ||
                !allocate_is_idle(view, &wanted))
                continue;
            bitset_set(&found, (unsigned)cpu);
            n++;
        }
    if (n < want)
        return false;
    bitset_or(room, &found);
    bitset_or(&checker->cpus_given, &found);
    return true;
}

/*
 * True if no group with a GPU is far from any CPU of the pool, or, with slices, from its own slice:
 * `numa` spreads evenly over the nodes, even if that is far from a GPU.
 */
static bool are_at_home(const struct checker *checker, const size_t *groups, size_t n,
                        const struct bitset *pool, const struct bitset *slices)
{
    for (size_t i = 0; i < n; i++) {
        struct bitset home;
        allocate_home(checker, groups[i], &home);
        if (gpus_of(checker, groups[i]) &&
            !(slices ? bitset_intersects(&slices[i], &home) : bitset_subset(pool, &home)))
            return false;
    }
    return true;
}

int allocate_gpu(const struct view *view, const struct topo *topo, uint64_t gpus)
{
    int found = -1;
    for (size_t g = 0; g < view->ngpus; g++)
        for (unsigned i = 0; (gpus >> g & 1) && i < topo->ngpus; i++) {
            if (strcmp(topo->gpus[i].pci_bdf, view->gpus[g].pci_bdf) != 0)
                continue;
            if (found >= 0 && topo->gpus[found].node != topo->gpus[i].node)
                return -1;
            found = found < 0 ? (int)i : found;
        }
    return found;
}

static bool make_plan(const struct topo *topo, const struct plan_request *request,
                      struct bitset slices[ALLOCATE_MOST])
{
    struct plan plan;
    struct err err;
    bool made = !plan_make(topo, request, &plan, &err) && plan.status == PLAN_OK;
    for (unsigned w = 0; made && w < request->workers; w++)
        slices[w] = plan.workers[w].cpus;
    plan_free(&plan);
    return made;
}

bool allocate_slices(struct checker *checker, const size_t *groups, size_t n,
                     const struct bitset *pool, struct bitset slices[ALLOCATE_MOST])
{
    const struct topo *topo = host_topo(checker->view);
    int gpus[ALLOCATE_MOST];
    size_t with_gpu = 0;
    bool allocated = false;
    if (!topo || n > ALLOCATE_MOST)
        return false;
    for (size_t i = 0; i < n; i++) {
        gpus[i] = allocate_gpu(checker->view, topo, gpus_of(checker, groups[i]));
        with_gpu += gpus[i] >= 0 && topo->gpus[gpus[i]].node >= 0;
    }
    struct plan_request request = {.placement = with_gpu == n ? PLACE_GPU_LOCAL : PLACE_NUMA,
                                   .workers = (unsigned)n};
    request.gpus = gpus;
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (bitset_test(pool, topo->cpus[i].os_cpu))
            bitset_set(&request.cpus, topo->cpus[i].os_cpu);
    if (!bitset_empty(&request.cpus)) {
        allocated =
            make_plan(topo, &request, slices) && are_at_home(checker, groups, n, pool, slices);
        bool anywhere = are_at_home(checker, groups, n, pool, NULL);
        request.placement = PLACE_PARTITION;
        request.cores_each = PLAN_CORES_ALL;
        allocated = allocated || (anywhere && make_plan(topo, &request, slices));
        request.cores_each = 0;
        allocated = allocated || (anywhere && make_plan(topo, &request, slices));
    }
    for (size_t i = 0; allocated && i < n; i++)
        bitset_or(&checker->cpus_given, &slices[i]);
    return allocated;
}

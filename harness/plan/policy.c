#include "harness/plan/policy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/plan/slices.h"

__attribute__((format(printf, 2, 3))) static void refuse(struct plan *plan, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(plan->reason, sizeof(plan->reason), fmt, ap);
    va_end(ap);
}

/* Disjoint slices need a unit for each worker. */
static int check_room(const struct plan *plan, unsigned workers, unsigned have, const char *unit,
                      struct err *err)
{
    if (workers <= have)
        return 0;
    return err_set(err, -ENOSPC,
                   "placement '%s' cannot give each of %u workers a %s of its own: there %s %u to "
                   "use (none, sized, passive and same allow more workers than CPUs)",
                   placement_infos[plan->placement].name, workers, unit, have == 1 ? "is" : "are",
                   have);
}

/* Near which node each worker's GPU is, -1 = unknown, or none; the caller frees it. */
static int near_nodes(const struct plan_space *space, const struct plan *plan, int **nodes,
                      struct err *err)
{
    *nodes = calloc(plan->nworkers, sizeof(**nodes));
    if (!*nodes)
        return err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    for (unsigned w = 0; w < plan->nworkers; w++) {
        int gpu = plan->workers[w].gpu;
        (*nodes)[w] = gpu < 0 ? -1 : space->topo->gpus[gpu].node;
    }
    return 0;
}

/* ---- none, sized, passive, same, partition: what people do by hand ---- */

static int place_none(const struct plan_space *space, struct plan *plan, struct err *err)
{
    (void)err;
    for (unsigned w = 0; w < plan->nworkers; w++)
        plan->workers[w].cpus = space->available;
    return 0;
}

static int place_sized(const struct plan_space *space, struct plan *plan, struct err *err)
{
    unsigned share = space->ncpus / plan->nworkers;
    for (unsigned w = 0; w < plan->nworkers; w++)
        plan->workers[w].threads = share ? share : 1;
    return place_none(space, plan, err);
}

static int place_passive(const struct plan_space *space, struct plan *plan, struct err *err)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        plan->workers[w].passive = true;
    return place_none(space, plan, err);
}

static int place_same(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units cpus;
    int rc = units_make(space->topo, &space->available, UNIT_CPU, &cpus, err);
    if (!rc) {
        /* As large as the first slice of `partition`. */
        unsigned share = (cpus.n + plan->nworkers - 1) / plan->nworkers;
        for (unsigned i = 0; i < share; i++)
            units_give(&cpus, i, &plan->workers[0]);
        for (unsigned w = 1; w < plan->nworkers; w++)
            plan->workers[w].cpus = plan->workers[0].cpus;
    }
    units_free(&cpus);
    return rc;
}

/* Deals units of one kind in blocks to plan->workers[from .. from + n). */
static int deal_blocks(const struct plan_space *space, const struct bitset *available,
                       enum unit_kind kind, struct plan *plan, unsigned from, unsigned n,
                       struct err *err)
{
    static const char *const names[] = {[UNIT_CPU] = "CPU",
                                        [UNIT_CORE] = "core",
                                        [UNIT_THREAD] = "core",
                                        [UNIT_LLC] = "last-level cache"};
    struct units units;
    struct plan_worker **workers = calloc(n + 1, sizeof(struct plan_worker *));
    int rc = units_make(space->topo, available, kind, &units, err);
    if (!rc && !workers)
        rc = err_set(err, -ENOMEM, "no memory to plan %u workers", n);
    if (!rc)
        rc = check_room(plan, n, units.n, names[kind], err);
    if (!rc && workers && n) {
        for (unsigned w = 0; w < n; w++)
            workers[w] = &plan->workers[from + w];
        units_deal_blocks(&units, 0, units.n, workers, n);
    }
    units_free(&units);
    free(workers);
    return rc;
}

/* As people count CPUs; but who asks for so many cores each means whole ones. */
static int place_partition(const struct plan_space *space, struct plan *plan, struct err *err)
{
    enum unit_kind kind = space->request->cores_each ? UNIT_CORE : UNIT_CPU;
    return deal_blocks(space, &space->available, kind, plan, 0, plan->nworkers, err);
}

/* ---- spread, cores, llc: by cores and caches ---- */

/* In one cache there is nothing to spread over; left are whole cores, and as many of each kind. */
static void why_not_spread(const struct plan_space *space, struct plan *plan)
{
    if (!space_has_one_llc(space)) /* one cache is one package: a cache never spans two */
        return;
    if (plan->nworkers > space_count_cores(space))
        refuse(plan, "all usable CPUs share one package and one last-level cache, of fewer cores "
                     "than workers");
    else if (space_is_uniform(space) && space_partition_keeps_cores(space))
        refuse(plan, "all usable CPUs share one package and one last-level cache, and partition "
                     "deals whole cores of it too");
}

/*
 * Cores as cards, in cache order: a cache with at least as many cores as there are workers gives
 * some to every worker, and from a smaller one no worker gets two, so that each slice touches as
 * many caches, and with them packages, as it can.
 */
static int place_spread(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units cores;
    int rc = units_make(space->topo, &space->available, UNIT_CORE, &cores, err);
    if (!rc)
        rc = check_room(plan, plan->nworkers, cores.n, "core", err);
    if (!rc)
        units_deal_cards(&cores, plan->workers, plan->nworkers);
    units_free(&cores);
    return rc;
}

static int place_cores(const struct plan_space *space, struct plan *plan, struct err *err)
{
    return deal_blocks(space, &space->available, UNIT_THREAD, plan, 0, plan->nworkers, err);
}

/* With one thread a core the two differ where Linux numbers cores otherwise than they lie. */
static void why_not_cores(const struct plan_space *space, struct plan *plan)
{
    struct err err;
    if (space_count_cores(space) < space->ncpus)
        return;
    if (plan->nworkers > space->ncpus) {
        refuse(plan, "the system reports one usable thread a core, and fewer than workers");
        return;
    }
    bool equal = !place_cores(space, plan, &err) && space_partition_equals(space, plan);
    for (unsigned w = 0; w < plan->nworkers; w++)
        plan->workers[w].cpus = (struct bitset){0};
    if (equal)
        refuse(plan, "the system reports one usable thread a core; cores would equal partition");
}

static void why_not_llc(const struct plan_space *space, struct plan *plan)
{
    if (!space_has_one_llc(space))
        return;
    if (space->topo->llc_level == 0)
        refuse(plan, "no shared cache is reported and there is one package");
    else
        refuse(plan, "all usable CPUs share one last-level cache (L%u)", space->topo->llc_level);
}

/* More workers than caches: each cache hosts some, and its cores are dealt among them. */
static int share_llcs(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units cores;
    struct group *caches = NULL;
    unsigned *home = calloc(plan->nworkers, sizeof(*home));
    int *near = NULL;
    int n = 0, rc = units_make(space->topo, &space->available, UNIT_CORE, &cores, err);
    if (!rc && !home)
        rc = err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    if (!rc)
        rc = check_room(plan, plan->nworkers, cores.n, "core", err);
    if (!rc)
        rc = near_nodes(space, plan, &near, err);
    if (!rc)
        rc = n = units_group(&cores, false, &caches, err);
    if (rc > 0) {
        groups_fill(caches, (unsigned)n, plan->nworkers, near, home);
        rc = groups_deal(&cores, caches, (unsigned)n, home, plan, err);
    }
    free(caches);
    free(home);
    free(near);
    units_free(&cores);
    return rc;
}

static int place_llc(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units llcs;
    int rc = units_make(space->topo, &space->available, UNIT_LLC, &llcs, err);
    bool enough = llcs.n >= plan->nworkers;
    units_free(&llcs);
    if (rc)
        return rc;
    return enough ? deal_blocks(space, &space->available, UNIT_LLC, plan, 0, plan->nworkers, err)
                  : share_llcs(space, plan, err);
}

/* ---- pcores ---- */

static void why_not_pcores(const struct plan_space *space, struct plan *plan)
{
    const struct topo_cpu *first = space_first_cpu(space);
    for (unsigned i = 0; i < space->topo->ncpus; i++) {
        const struct topo_cpu *cpu = &space->topo->cpus[i];
        if (bitset_test(&space->available, cpu->os_cpu) && cpu->kind != first->kind)
            return;
    }
    refuse(plan, "all usable cores are of one kind (no performance and efficiency cores)");
}

/*
 * The kinds that count as performance cores: the most powerful one, and those below it only while
 * there are fewer cores than workers; the weakest never. Writes the CPUs of both sides.
 */
static int split_kinds(const struct plan_space *space, struct bitset *strong, struct bitset *weak,
                       struct err *err)
{
    struct units cores;
    int rc = units_make(space->topo, &space->available, UNIT_CORE, &cores, err);
    int lowest = INT32_MAX, threshold = -1;
    for (unsigned i = 0; i < cores.n && !rc; i++) {
        lowest = cores.unit[i].kind < lowest ? cores.unit[i].kind : lowest;
        threshold = cores.unit[i].kind > threshold ? cores.unit[i].kind : threshold;
    }
    for (unsigned n = 0; threshold > lowest; threshold--) {
        for (unsigned i = 0; i < cores.n; i++)
            n += cores.unit[i].kind == threshold;
        if (n >= space->request->workers || threshold == lowest + 1)
            break;
    }
    for (unsigned i = 0; i < space->topo->ncpus; i++) {
        const struct topo_cpu *cpu = &space->topo->cpus[i];
        if (bitset_test(&space->available, cpu->os_cpu))
            bitset_set(cpu->kind >= threshold ? strong : weak, cpu->os_cpu);
    }
    units_free(&cores);
    return rc;
}

static int place_pcores(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct bitset strong = {0}, weak = {0};
    unsigned workers = space->request->workers;
    int rc = split_kinds(space, &strong, &weak, err);
    if (!rc)
        rc = deal_blocks(space, &strong, UNIT_CORE, plan, 0, workers, err);
    if (!rc)
        rc = deal_blocks(space, &weak, UNIT_CORE, plan, workers, plan->nworkers - workers, err);
    return rc;
}

/* ---- numa, gpu-local, remote: by NUMA node ---- */

/* Usable cores by node, for nodes whose memory may be used too. */
struct numa {
    struct units cores;
    unsigned usable; /* cores on such nodes */
    struct group *nodes;
    unsigned nnodes;
    unsigned *home; /* worker -> index in nodes */
};

static void numa_free(struct numa *numa)
{
    units_free(&numa->cores);
    free(numa->nodes);
    free(numa->home);
}

/* Usable, as is the memory of its own node: where that has none, its node is another one, far away.
 */
static bool has_own_node(const struct plan_space *space, const struct topo_cpu *cpu)
{
    if (cpu->node < 0 || !bitset_test(&space->available, cpu->os_cpu))
        return false;
    const struct topo_node *node = &space->topo->nodes[cpu->node];
    return node->allowed && bitset_test(&node->cpus, cpu->os_cpu);
}

static int numa_init(const struct plan_space *space, const struct plan *plan, struct numa *numa,
                     struct err *err)
{
    struct bitset local = {0};
    for (unsigned i = 0; i < space->topo->ncpus; i++)
        if (has_own_node(space, &space->topo->cpus[i]))
            bitset_set(&local, space->topo->cpus[i].os_cpu);
    *numa = (struct numa){.home = calloc(plan->nworkers + 1, sizeof(*numa->home))};
    int rc = units_make(space->topo, &local, UNIT_CORE, &numa->cores, err);
    if (!rc && !numa->home)
        rc = err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    if (!rc)
        rc = units_group(&numa->cores, true, &numa->nodes, err);
    numa->nnodes = rc > 0 ? (unsigned)rc : 0;
    numa->usable = numa->cores.n;
    return rc < 0 ? rc : 0;
}

static void why_not_numa(const struct plan_space *space, struct plan *plan)
{
    int first = -1;
    for (unsigned i = 0; i < space->topo->ncpus; i++) {
        const struct topo_cpu *cpu = &space->topo->cpus[i];
        if (!has_own_node(space, cpu))
            continue;
        if (first >= 0 && cpu->node != first)
            return;
        first = cpu->node;
    }
    if (space->topo->nnodes > 1)
        refuse(plan, "fewer than two of the %u NUMA nodes have both usable CPUs and memory",
               space->topo->nnodes);
    else
        refuse(plan, "the system reports one NUMA node");
}

static void bind_memory(const struct topo *topo, int node, struct plan_worker *worker)
{
    worker->mem_policy = MEM_BIND;
    bitset_set(&worker->mem_nodes, topo->nodes[node].os_node);
}

static int deal_nodes(const struct plan_space *space, const struct numa *numa, struct plan *plan,
                      struct err *err)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        bind_memory(space->topo, numa->nodes[numa->home[w]].key, &plan->workers[w]);
    return groups_deal(&numa->cores, numa->nodes, numa->nnodes, numa->home, plan, err);
}

static int place_numa(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct numa numa;
    int *near = NULL;
    int rc = numa_init(space, plan, &numa, err);
    if (!rc)
        rc = check_room(plan, plan->nworkers, numa.usable, "core", err);
    if (!rc)
        rc = near_nodes(space, plan, &near, err);
    if (!rc) {
        groups_fill(numa.nodes, numa.nnodes, plan->nworkers, near, numa.home);
        rc = deal_nodes(space, &numa, plan, err);
    }
    free(near);
    numa_free(&numa);
    return rc;
}

/* True when workers may be placed on this node. */
static bool node_is_usable(const struct plan_space *space, int node)
{
    for (unsigned i = 0; i < space->topo->ncpus; i++)
        if (space->topo->cpus[i].node == node && has_own_node(space, &space->topo->cpus[i]))
            return true;
    return false;
}

/* Of a node that is not usable. */
static const char *what_node_lacks(const struct plan_space *space, int index)
{
    const struct topo_node *node = &space->topo->nodes[index];
    if (bitset_intersects(&node->cpus, &space->available))
        return "memory";
    return node->allowed ? "CPU" : "CPU and no memory";
}

static void why_not_gpu_local(const struct plan_space *space, struct plan *plan)
{
    why_not_numa(space, plan);
    for (unsigned w = 0; w < space->request->workers && !plan->reason[0]; w++) {
        int index = plan->workers[w].gpu;
        if (index < 0) {
            if (space->request->gpus)
                refuse(plan, "which GPU worker %u uses is not known", w);
            else
                refuse(plan, "there is no GPU to be local to");
            return;
        }
        const struct topo_gpu *gpu = &space->topo->gpus[index];
        if (gpu->node < 0)
            refuse(plan, "which NUMA node GPU %s is near is not known", gpu->pci_bdf);
        else if (!node_is_usable(space, gpu->node))
            refuse(plan, "GPU %s is near NUMA node %u, which has no %s that we may use",
                   gpu->pci_bdf, space->topo->nodes[gpu->node].os_node,
                   what_node_lacks(space, gpu->node));
    }
}

static int place_gpu_local(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct numa numa;
    unsigned workers = space->request->workers, room = 0;
    int rc = numa_init(space, plan, &numa, err);
    for (unsigned w = 0; w < workers && !rc; w++) {
        int node = space->topo->gpus[plan->workers[w].gpu].node;
        unsigned g = 0;
        while (numa.nodes[g].key != node)
            g++;
        numa.home[w] = g;
        numa.nodes[g].workers++;
    }
    for (unsigned g = 0; g < numa.nnodes && !rc; g++) {
        const struct group *node = &numa.nodes[g];
        room += node->count - node->workers;
        if (node->workers > node->count)
            rc = err_set(err, -ENOSPC,
                         "placement 'gpu-local' cannot put %u workers near their GPUs on NUMA node "
                         "%u: there %s %u core%s to use",
                         node->workers, space->topo->nodes[node->key].os_node,
                         node->count == 1 ? "is" : "are", node->count, node->count == 1 ? "" : "s");
    }
    if (!rc)
        rc = check_room(plan, plan->nworkers, workers + room, "core", err);
    if (!rc) {
        groups_fill(numa.nodes, numa.nnodes, plan->nworkers - workers, NULL, numa.home + workers);
        rc = deal_nodes(space, &numa, plan, err);
    }
    numa_free(&numa);
    return rc;
}

static unsigned distance(const struct topo *topo, int from, int to)
{
    return topo->distances ? topo->distances[(size_t)from * topo->nnodes + (size_t)to] : 0;
}

/* The farthest of the other nodes; of equally far ones, the next in order. */
static int far_node(const struct topo *topo, const struct numa *numa, unsigned home)
{
    int here = numa->nodes[home].key, far = numa->nodes[(home + 1) % numa->nnodes].key;
    for (unsigned step = 2; step < numa->nnodes; step++) {
        int node = numa->nodes[(home + step) % numa->nnodes].key;
        if (distance(topo, here, node) > distance(topo, here, far))
            far = node;
    }
    return far;
}

/* True when GPU a is the worse one, as wanted here: idle, since shared it would measure that;
 * beside the far memory, else far. */
static bool is_more_remote(const struct topo *topo, int home, int memory, const unsigned *users,
                           unsigned a, unsigned b)
{
    int node_a = topo->gpus[a].node, node_b = topo->gpus[b].node;
    if (users[a] != users[b])
        return users[a] < users[b];
    if ((node_a == memory) != (node_b == memory))
        return node_a == memory;
    unsigned far_a = distance(topo, home, node_a), far_b = distance(topo, home, node_b);
    return far_a > far_b;
}

/* A visible GPU that is known to be of another node than `home`, or `otherwise`. */
static int remote_gpu(const struct topo *topo, int home, int memory, unsigned *users, int otherwise)
{
    int best = -1;
    for (unsigned i = 0; i < topo_visible_gpus(topo); i++)
        if (topo->gpus[i].node >= 0 && topo->gpus[i].node != home &&
            (best < 0 || is_more_remote(topo, home, memory, users, i, (unsigned)best)))
            best = (int)i;
    best = best < 0 ? otherwise : best;
    if (best >= 0)
        users[best]++;
    return best;
}

static int place_remote(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct numa numa;
    unsigned *users = calloc(space->topo->ngpus + 1, sizeof(*users));
    int rc = numa_init(space, plan, &numa, err);
    if (!rc && !users)
        rc = err_set(err, -ENOMEM, "no memory to plan %u GPUs", space->topo->ngpus);
    if (!rc)
        rc = check_room(plan, plan->nworkers, numa.usable, "core", err);
    if (!rc) {
        groups_fill(numa.nodes, numa.nnodes, plan->nworkers, NULL, numa.home);
        rc = groups_deal(&numa.cores, numa.nodes, numa.nnodes, numa.home, plan, err);
    }
    for (unsigned w = 0; w < plan->nworkers && !rc; w++) {
        struct plan_worker *worker = &plan->workers[w];
        int memory = far_node(space->topo, &numa, numa.home[w]);
        bind_memory(space->topo, memory, worker);
        if (!worker->background)
            worker->gpu =
                remote_gpu(space->topo, numa.nodes[numa.home[w]].key, memory, users, worker->gpu);
    }
    numa_free(&numa);
    free(users);
    return rc;
}

const struct policy plan_policies[PLACEMENTS] = {
    [PLACE_NONE] = {NULL, place_none},
    [PLACE_SIZED] = {NULL, place_sized},
    [PLACE_PASSIVE] = {NULL, place_passive},
    [PLACE_SAME] = {NULL, place_same},
    [PLACE_PARTITION] = {NULL, place_partition},
    [PLACE_SPREAD] = {why_not_spread, place_spread},
    [PLACE_CORES] = {why_not_cores, place_cores},
    [PLACE_LLC] = {why_not_llc, place_llc},
    [PLACE_NUMA] = {why_not_numa, place_numa},
    [PLACE_GPU_LOCAL] = {why_not_gpu_local, place_gpu_local},
    [PLACE_REMOTE] = {why_not_numa, place_remote},
    [PLACE_PCORES] = {why_not_pcores, place_pcores},
};

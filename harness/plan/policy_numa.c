/* The placements numa, gpu-local and remote: by NUMA node. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "harness/plan/policy.h"
#include "harness/plan/slices.h"

/* Usable cores by node. */
struct numa {
    struct units cores;
    struct group *nodes;
    unsigned nnodes;
    unsigned usable; /* cores on them */
    unsigned *home;  /* worker -> index in nodes */
};

enum nodes { OWN_NODES, JOINED_NODES };

static void numa_free(struct numa *numa)
{
    units_free(&numa->cores);
    free(numa->nodes);
    free(numa->home);
}

/*
 * Which node the cores of node `own` are planned with. A node without memory to use is a part of
 * the nearest node with memory if that is on the same package, so that its CPUs are not idle.
 */
static int planned_node(const struct topo *topo, enum nodes nodes, int own)
{
    int memory = nodes == OWN_NODES || own < 0 ? own : topo_memory_node(topo, own);
    return memory >= 0 && topo->nodes[memory].package == topo->nodes[own].package ? memory : own;
}

static int numa_init(const struct plan_space *space, const struct plan *plan, enum nodes nodes,
                     struct numa *numa, struct err *err)
{
    *numa = (struct numa){.home = calloc(plan->nworkers + 1, sizeof(*numa->home))};
    int rc = units_make(space->topo, &space->available, UNIT_CORE, &numa->cores, err);
    if (!rc && !numa->home)
        rc = err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    for (unsigned i = 0; i < numa->cores.n && !rc; i++)
        numa->cores.unit[i].node = planned_node(space->topo, nodes, numa->cores.unit[i].node);
    if (!rc)
        rc = units_group(&numa->cores, true, &numa->nodes, err);
    numa->nnodes = rc > 0 ? (unsigned)rc : 0;
    for (unsigned g = 0; g < numa->nnodes; g++) {
        struct group *node = &numa->nodes[g];
        node->far_memory = topo_memory_node(space->topo, node->key) != node->key;
        numa->usable += node->count;
    }
    return rc < 0 ? rc : 0;
}

/* True if the usable CPUs belong to two nodes or more; `by_memory`: use memory of two. */
static bool has_nodes(const struct plan_space *space, bool by_memory)
{
    int first = -1;
    for (unsigned i = 0; i < space->topo->ncpus; i++) {
        const struct topo_cpu *cpu = &space->topo->cpus[i];
        if (!bitset_test(&space->available, cpu->os_cpu))
            continue;
        int own = topo_own_node(space->topo, cpu), memory = topo_memory_node(space->topo, own);
        int node = by_memory ? memory : own;
        if (memory < 0 || own < 0)
            continue;
        if (first >= 0 && node != first)
            return true;
        first = node;
    }
    return false;
}

void policy_why_not_numa(const struct plan_space *space, struct plan *plan)
{
    if (has_nodes(space, true))
        return;
    if (space->topo->nnodes > 1)
        policy_refuse(plan, "fewer than two of the %u NUMA nodes have both usable CPUs and memory",
                      space->topo->nnodes);
    else
        policy_refuse(plan, "the system reports one NUMA node");
}

/* Binds to the node's memory or, where it has none to use, to the nearest. */
static void bind_memory(const struct topo *topo, int node, struct plan_worker *worker)
{
    worker->mem_policy = MEM_BIND;
    bitset_set(&worker->mem_nodes, topo->nodes[topo_memory_node(topo, node)].os_node);
}

static int assign_nodes(const struct plan_space *space, const struct numa *numa, struct plan *plan,
                        struct err *err)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        bind_memory(space->topo, numa->nodes[numa->home[w]].key, &plan->workers[w]);
    return groups_assign(&numa->cores, numa->nodes, numa->nnodes, numa->home, plan, err);
}

/* Like numa_init; then assigns home nodes near the GPUs, as long as nodes stay evenly filled. */
static int numa_fill(const struct plan_space *space, const struct plan *plan, struct numa *numa,
                     struct err *err)
{
    int *near = NULL;
    int rc = numa_init(space, plan, JOINED_NODES, numa, err);
    if (!rc)
        rc = policy_check_room(plan, plan->nworkers, numa->usable, "core", err);
    if (!rc)
        rc = policy_near_nodes(space, plan, &near, err);
    for (unsigned w = 0; w < plan->nworkers && !rc; w++)
        near[w] = planned_node(space->topo, JOINED_NODES, near[w]);
    if (!rc)
        groups_fill(numa->nodes, numa->nnodes, plan->nworkers, near, numa->home);
    free(near);
    return rc;
}

int policy_place_numa(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct numa numa;
    int rc = numa_fill(space, plan, &numa, err);
    if (!rc)
        rc = assign_nodes(space, &numa, plan, err);
    numa_free(&numa);
    return rc;
}

void policy_why_not_gpu_local(const struct plan_space *space, struct plan *plan)
{
    if (!has_nodes(space, false))
        policy_why_not_numa(space, plan);
    for (unsigned w = 0; w < space->request->workers && !plan->reason[0]; w++) {
        int index = plan->workers[w].gpu;
        if (index < 0) {
            if (space->request->gpus)
                policy_refuse(plan, "which GPU worker %u uses is not known", w);
            else
                policy_refuse(plan, "there is no GPU to be local to");
            return;
        }
        const struct topo_gpu *gpu = &space->topo->gpus[index];
        if (gpu->node < 0)
            policy_refuse(plan, "which NUMA node GPU %s is near is not known", gpu->pci_bdf);
        else if (!bitset_intersects(&space->topo->nodes[gpu->node].cpus, &space->available))
            policy_refuse(plan, "GPU %s is near NUMA node %u, which has no CPU that we may use",
                          gpu->pci_bdf, space->topo->nodes[gpu->node].os_node);
    }
}

int policy_place_gpu_local(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct numa numa;
    unsigned workers = space->request->workers, room = 0;
    int rc = numa_init(space, plan, OWN_NODES, &numa, err);
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
        rc = policy_check_room(plan, plan->nworkers, workers + room, "core", err);
    if (!rc) {
        groups_fill(numa.nodes, numa.nnodes, plan->nworkers - workers, NULL, numa.home + workers);
        rc = assign_nodes(space, &numa, plan, err);
    }
    numa_free(&numa);
    return rc;
}

unsigned policy_distance(const struct topo *topo, int from, int to)
{
    return topo->distances ? topo->distances[(size_t)from * topo->nnodes + (size_t)to] : 0;
}

/* The node with memory farthest from `home`. Among equally far nodes, the node that gives memory to
 * the fewest workers, so that workers do not share memory needlessly; then the next in order. */
static int farthest_node(const struct topo *topo, struct numa *numa, unsigned home)
{
    const int own = numa->nodes[home].key;
    struct group *far = NULL;
    for (unsigned step = 1; step < numa->nnodes; step++) {
        struct group *node = &numa->nodes[(home + step) % numa->nnodes];
        int memory = topo_memory_node(topo, node->key);
        unsigned away = policy_distance(topo, own, memory),
                 most = far ? policy_distance(topo, own, topo_memory_node(topo, far->key)) : 0;
        if (memory != topo_memory_node(topo, own) &&
            (!far || away > most || (away == most && node->remote_users < far->remote_users)))
            far = node;
    }
    assert(far); /* else policy_why_not_numa refuses */
    far->remote_users++;
    return topo_memory_node(topo, far->key);
}

/* True if GPU a suits the negative control better than b: first by fewer users, since sharing would
 * disturb the measurement; then on the node of the far memory; then by distance from `home`. */
static bool is_more_remote(const struct topo *topo, int home, int memory, const unsigned *users,
                           unsigned a, unsigned b)
{
    int node_a = topo->gpus[a].node, node_b = topo->gpus[b].node;
    if (users[a] != users[b])
        return users[a] < users[b];
    if ((node_a == memory) != (node_b == memory))
        return node_a == memory;
    unsigned far_a = policy_distance(topo, home, node_a),
             far_b = policy_distance(topo, home, node_b);
    return far_a > far_b;
}

/* Chooses and counts a visible GPU known to be on another node than `home`; if there is none,
 * returns `otherwise`. */
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

int policy_place_remote(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct numa numa;
    unsigned *users = calloc(space->topo->ngpus + 1, sizeof(*users));
    int rc = numa_fill(space, plan, &numa, err);
    if (!rc && !users)
        rc = err_set(err, -ENOMEM, "no memory to plan %u GPUs", space->topo->ngpus);
    if (!rc)
        rc = groups_assign(&numa.cores, numa.nodes, numa.nnodes, numa.home, plan, err);
    for (unsigned w = 0; w < plan->nworkers && !rc; w++) {
        struct plan_worker *worker = &plan->workers[w];
        int memory = farthest_node(space->topo, &numa, numa.home[w]);
        bind_memory(space->topo, memory, worker);
        if (!worker->background)
            worker->gpu =
                remote_gpu(space->topo, numa.nodes[numa.home[w]].key, memory, users, worker->gpu);
    }
    numa_free(&numa);
    free(users);
    return rc;
}

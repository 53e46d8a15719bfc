/*
 * The placement package-local: where a package has several NUMA nodes (SNC, NPS), workers near the
 * GPUs of one node share the whole package. Each gets part of the node near its GPU, and as many
 * cores of the package's other nodes as make all shares equal.
 */
#include <errno.h>
#include <stdlib.h>

#include "harness/plan/policy.h"
#include "harness/plan/slices.h"

/* A worker in its package; package and node are those of the worker's GPU. */
struct package_worker {
    int package, node; /* node: -1 = none, as for background workers */
    unsigned share;    /* cores that it should get */
    unsigned has;      /* cores that it has got so far */
};

struct packages {
    struct units cores;
    bool *taken;                    /* by core */
    unsigned *size, *nworkers;      /* by package: usable cores, workers */
    struct package_worker *workers; /* by worker */
};

static void packages_free(struct packages *packages)
{
    units_free(&packages->cores);
    free(packages->taken);
    free(packages->size);
    free(packages->nworkers);
    free(packages->workers);
}

/* -1: the node is unknown or has no CPUs. */
static int package_of_node(const struct topo *topo, int node)
{
    return node < 0 ? -1 : topo->nodes[node].package;
}

/* How many nodes of the package have usable CPUs. */
static unsigned count_nodes(const struct plan_space *space, int package)
{
    unsigned n = 0;
    for (unsigned node = 0; node < space->topo->nnodes; node++)
        n += package_of_node(space->topo, (int)node) == package &&
             bitset_intersects(&space->topo->nodes[node].cpus, &space->available);
    return n;
}

void policy_why_not_package_local(const struct plan_space *space, struct plan *plan)
{
    unsigned most = 0;
    for (unsigned w = 0; w < space->request->workers; w++) {
        int gpu = plan->workers[w].gpu, node = gpu < 0 ? -1 : space->topo->gpus[gpu].node;
        int package = package_of_node(space->topo, node);
        unsigned nodes = package < 0 ? 0 : count_nodes(space, package);
        if (gpu < 0 && space->request->gpus)
            policy_refuse(plan, "which GPU worker %u uses is not known", w);
        else if (gpu < 0)
            policy_refuse(plan, "there is no GPU to be local to");
        else if (package < 0)
            policy_refuse(plan, "which package GPU %s is near is not known",
                          space->topo->gpus[gpu].pci_bdf);
        else if (!nodes)
            policy_refuse(plan, "GPU %s is near a package that has no CPU that we may use",
                          space->topo->gpus[gpu].pci_bdf);
        if (plan->reason[0])
            return;
        most = nodes > most ? nodes : most;
    }
    if (most < 2)
        policy_refuse(plan, "no package of a GPU has a second NUMA node: see gpu-local");
}

static int packages_init(const struct plan_space *space, const struct plan *plan,
                         struct packages *packages, struct err *err)
{
    unsigned n = space->topo->npackages;
    *packages = (struct packages){.size = calloc(n, sizeof(unsigned)),
                                  .nworkers = calloc(n, sizeof(unsigned)),
                                  .workers = calloc(plan->nworkers, sizeof(struct package_worker))};
    int rc = units_make(space->topo, &space->available, UNIT_CORE, &packages->cores, err);
    if (rc)
        return rc;
    packages->taken = calloc(packages->cores.n, sizeof(bool));
    if (!packages->size || !packages->nworkers || !packages->workers || !packages->taken)
        return err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    for (unsigned i = 0; i < packages->cores.n; i++)
        packages->size[packages->cores.unit[i].package]++;
    return 0;
}

/* The package with the most cores per worker, for a background worker. */
static int least_crowded(const struct packages *packages, unsigned npackages)
{
    unsigned best = 0;
    for (unsigned p = 1; p < npackages; p++)
        if ((uint64_t)packages->size[p] * (packages->nworkers[best] + 1) >
            (uint64_t)packages->size[best] * (packages->nworkers[p] + 1))
            best = p;
    return (int)best;
}

static int assign_packages(const struct plan_space *space, const struct plan *plan,
                           struct packages *packages, struct err *err)
{
    unsigned n = space->topo->npackages;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        struct package_worker *worker = &packages->workers[w];
        bool local = !plan->workers[w].background;
        worker->node = local ? space->topo->gpus[plan->workers[w].gpu].node : -1;
        worker->package =
            local ? package_of_node(space->topo, worker->node) : least_crowded(packages, n);
        packages->nworkers[worker->package]++;
    }
    for (unsigned p = 0; p < n; p++)
        if (packages->nworkers[p] > packages->size[p])
            return err_set(err, -ENOSPC,
                           "placement 'package-local' cannot put %u workers into package %u: there "
                           "%s %u core%s to use",
                           packages->nworkers[p], p, packages->size[p] == 1 ? "is" : "are",
                           packages->size[p], packages->size[p] == 1 ? "" : "s");
    for (unsigned p = 0; p < n; p++)
        for (unsigned w = 0, i = 0; w < plan->nworkers; w++)
            if (packages->workers[w].package == (int)p) {
                packages->workers[w].share = packages->size[p] / packages->nworkers[p] +
                                             (i < packages->size[p] % packages->nworkers[p]);
                i++;
            }
    return 0;
}

static void take(struct packages *packages, struct plan *plan, unsigned w, unsigned core)
{
    units_give(&packages->cores, core, &plan->workers[w]);
    packages->taken[core] = true;
    packages->workers[w].has++;
}

/* Assigns the cores of each node to the workers whose GPU is near the node, up to their shares. */
static void assign_near(const struct topo *topo, struct packages *packages, struct plan *plan)
{
    for (unsigned node = 0; node < topo->nnodes; node++) {
        unsigned size = 0, workers = 0, core = 0, i = 0;
        for (unsigned c = 0; c < packages->cores.n; c++)
            size += packages->cores.unit[c].node == (int)node;
        for (unsigned w = 0; w < plan->nworkers; w++)
            workers += packages->workers[w].node == (int)node;
        for (unsigned w = 0; w < plan->nworkers; w++) {
            if (packages->workers[w].node != (int)node)
                continue;
            unsigned part = size / workers + (i++ < size % workers);
            part = part < packages->workers[w].share ? part : packages->workers[w].share;
            for (; part; core++)
                if (packages->cores.unit[core].node == (int)node) {
                    take(packages, plan, w, core);
                    part--;
                }
        }
    }
}

/* The nearest free core of the worker's package; one exists as long as its share is not full. */
static unsigned nearest(const struct topo *topo, const struct packages *packages,
                        const struct package_worker *worker)
{
    unsigned best = packages->cores.n, least = UINT_MAX;
    for (unsigned c = 0; c < packages->cores.n; c++) {
        const struct unit *core = &packages->cores.unit[c];
        if (packages->taken[c] || core->package != worker->package)
            continue;
        unsigned far = worker->node < 0 || core->node < 0
                           ? 0
                           : policy_distance(topo, worker->node, core->node);
        if (best < packages->cores.n && far >= least)
            continue;
        best = c;
        least = far;
    }
    return best;
}

static void prefer_memory(const struct topo *topo, int node, struct plan_worker *worker)
{
    int memory = node < 0 ? -1 : topo_memory_node(topo, node);
    if (memory < 0)
        return;
    worker->mem_policy = MEM_PREFERRED;
    bitset_set(&worker->mem_nodes, topo->nodes[memory].os_node);
}

int policy_place_package_local(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct packages packages;
    int rc = packages_init(space, plan, &packages, err);
    if (!rc)
        rc = assign_packages(space, plan, &packages, err);
    if (!rc)
        assign_near(space->topo, &packages, plan);
    for (unsigned w = 0; w < plan->nworkers && !rc; w++) {
        struct package_worker *worker = &packages.workers[w];
        while (worker->has < worker->share)
            take(&packages, plan, w, nearest(space->topo, &packages, worker));
        prefer_memory(space->topo, worker->node, &plan->workers[w]);
    }
    packages_free(&packages);
    return rc;
}

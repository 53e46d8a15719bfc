#include "tests/lib/fixture_plan_properties.h"
#include "tests/lib/unit.h"

/* What the request leaves to plan on, computed without the planner. */
static struct bitset usable_cpus(const struct topo *topo, const struct plan_request *request)
{
    struct bitset usable = {0};
    unsigned cores = 0;
    int last_core = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        bool asked = bitset_empty(&request->cpus) || bitset_test(&request->cpus, cpu->os_cpu);
        if (!cpu->allowed || !asked)
            continue;
        if (cpu->core != last_core)
            cores++;
        last_core = cpu->core;
        if (cores > request->reserve_cores)
            bitset_set(&usable, cpu->os_cpu);
    }
    return usable;
}

enum part { PART_CORE, PART_LLC, PART_NODE, PART_JOINED_NODE };

/* A node without usable memory is joined to the nearest one of the same package that has some. */
static int node_of_cpu(const struct topo *topo, const struct topo_cpu *cpu, enum part part)
{
    int own = topo_own_node(topo, cpu), memory = topo_memory_node(topo, own);
    bool joins = part == PART_JOINED_NODE && own >= 0 && memory >= 0 &&
                 topo->nodes[own].package == topo->nodes[memory].package;
    return joins ? memory : own;
}

static int part_of(const struct topo *topo, const struct topo_cpu *cpu, enum part part)
{
    return part == PART_CORE  ? cpu->core
           : part == PART_LLC ? cpu->llc
                              : node_of_cpu(topo, cpu, part);
}

/* The CPUs of the set that have a last-level cache; some cores have none. */
static struct bitset of_llcs(const struct topo *topo, const struct bitset *set)
{
    struct bitset inside = *set;
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (topo->cpus[i].llc >= (int)topo->nllcs)
            bitset_clear(&inside, topo->cpus[i].os_cpu);
    return inside;
}

/* The number of different cores, caches or nodes that a set touches. */
static unsigned parts_touched(const struct topo *topo, const struct bitset *set, enum part part)
{
    bool *seen = calloc(topo->ncpus + topo->nnodes, sizeof(*seen));
    unsigned n = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        int p = part_of(topo, &topo->cpus[i], part);
        if (p >= 0 && bitset_test(set, topo->cpus[i].os_cpu) && !seen[p]) {
            seen[p] = true;
            n++;
        }
    }
    free(seen);
    return n;
}

/* True if `set` holds each core (or cache) of `usable` as a whole or not at all. */
static bool keeps_whole(const struct topo *topo, const struct bitset *set,
                        const struct bitset *usable, enum part part)
{
    int *state = calloc(topo->ncpus + topo->nnodes, sizeof(*state)); /* 1 inside, 2 outside */
    bool whole = true;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (bitset_test(usable, cpu->os_cpu))
            state[part_of(topo, cpu, part)] |= bitset_test(set, cpu->os_cpu) ? 1 : 2;
    }
    for (unsigned i = 0; i < topo->ncpus; i++)
        whole &= state[part_of(topo, &topo->cpus[i], part)] != 3;
    free(state);
    return whole;
}

static int node_of(const struct topo *topo, const struct bitset *set, enum part part)
{
    int first = bitset_next(set, 0);
    for (unsigned i = 0; i < topo->ncpus; i++)
        if ((int)topo->cpus[i].os_cpu == first)
            return node_of_cpu(topo, &topo->cpus[i], part);
    return -1;
}

static enum part nodes_of(const struct plan *plan)
{
    return plan->placement == PLACE_GPU_LOCAL ? PART_NODE : PART_JOINED_NODE;
}

struct spread {
    unsigned min, max;
};

static void include(struct spread *spread, unsigned value)
{
    if (spread->max == 0 || value < spread->min)
        spread->min = value;
    if (value > spread->max)
        spread->max = value;
}

static void check_fair(const char *what, struct spread spread)
{
    if (spread.max - spread.min > 1)
        fail_msg("%s: sizes from %u to %u", what, spread.min, spread.max);
}

/* Promises for every worker of every placement. */
static void check_worker(const struct topo *topo, const struct plan_request *request,
                         const struct plan *plan, unsigned w, const struct bitset *usable)
{
    const struct plan_worker *worker = &plan->workers[w];
    unsigned ncpus = bitset_count(&worker->cpus), visible = topo_visible_gpus(topo);
    assert_true(ncpus >= 1);
    assert_true(bitset_subset(&worker->cpus, usable));
    assert_int_equal(worker->background, w >= request->workers);
    assert_int_equal(worker->passive, plan->placement == PLACE_PASSIVE);
    if (!worker->background && request->threads)
        assert_int_equal(worker->threads, request->threads);
    else if (plan->placement == PLACE_SIZED)
        assert_int_equal(worker->threads, ncpus / plan->nworkers ? ncpus / plan->nworkers : 1);
    else
        assert_int_equal(worker->threads, ncpus);
    if (worker->background || !visible)
        assert_int_equal(worker->gpu, -1);
    else if (plan->placement != PLACE_REMOTE && request->workers >= visible)
        assert_int_equal(worker->gpu, w % visible);
    assert_int_equal(bitset_empty(&worker->mem_nodes), worker->mem_policy == MEM_DEFAULT);
    for (int n = bitset_next(&worker->mem_nodes, 0); n >= 0;
         n = bitset_next(&worker->mem_nodes, (unsigned)n + 1))
        assert_true(topo->nodes[topo_node_index(topo, (unsigned)n)].allowed);
}

/* The number of the plan's GPUs on this node. */
static unsigned gpus_of_node(const struct topo *topo, const struct plan *plan, int node)
{
    unsigned n = 0;
    for (unsigned w = 0; w < plan->nworkers; w++)
        n += plan->workers[w].gpu >= 0 && topo->gpus[plan->workers[w].gpu].node == node;
    return n;
}

static bool is_usable(const struct topo *topo, int node, const struct bitset *usable)
{
    return node < 0 ||
           (topo->nodes[node].allowed && bitset_intersects(&topo->nodes[node].cpus, usable));
}

/* Fewer workers than GPUs: each worker has its own GPU, in order. No node gives two GPUs more than
 * another node that has usable CPUs and a GPU left. */
static void check_gpus(const struct topo *topo, const struct plan_request *request,
                       const struct plan *plan, const struct bitset *usable)
{
    unsigned visible = topo_visible_gpus(topo);
    if (plan->placement == PLACE_REMOTE || request->workers >= visible)
        return;
    for (unsigned w = 1; w < request->workers; w++)
        assert_true(plan->workers[w].gpu > plan->workers[w - 1].gpu);
    for (unsigned i = 0; i < visible; i++) {
        bool left = true;
        int idle = topo->gpus[i].node;
        for (unsigned w = 0; w < request->workers; w++)
            left = left && plan->workers[w].gpu != (int)i;
        if (!left || !is_usable(topo, idle, usable))
            continue;
        for (unsigned w = 0; w < request->workers; w++) {
            int node = topo->gpus[plan->workers[w].gpu].node;
            assert_true(is_usable(topo, node, usable));
            assert_true(gpus_of_node(topo, plan, node) <= gpus_of_node(topo, plan, idle) + 1);
        }
    }
}

static void check_unpinned(const struct plan *plan, const struct bitset *usable)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        assert_true(bitset_equal(&plan->workers[w].cpus, usable));
}

/* Contiguous in os_cpu order: no worker has a CPU below those of an earlier worker. */
static void check_partition(const struct plan *plan, const struct bitset *usable)
{
    struct spread size = {0};
    struct bitset all = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        include(&size, bitset_count(cpus));
        bitset_or(&all, cpus);
        for (int cpu = bitset_next(cpus, 0); w && cpu >= 0;
             cpu = bitset_next(cpus, (unsigned)cpu + 1))
            assert_int_equal(bitset_next(&plan->workers[w - 1].cpus, (unsigned)cpu), -1);
    }
    check_fair("partition", size);
    assert_true(bitset_equal(&all, usable));
}

static void check_same(const struct plan *plan, const struct bitset *usable)
{
    const struct bitset *first = &plan->workers[0].cpus;
    unsigned n = bitset_count(usable);
    for (unsigned w = 1; w < plan->nworkers; w++)
        assert_true(bitset_equal(&plan->workers[w].cpus, first));
    assert_int_equal(bitset_count(first), (n + plan->nworkers - 1) / plan->nworkers);
    assert_int_equal(bitset_next(first, 0), bitset_next(usable, 0));
}

/* Equal numbers of cores of each kind. */
static void check_kinds(const struct topo *topo, const struct plan *plan)
{
    for (int kind = 0; kind < (int)topo->nkinds; kind++) {
        struct bitset all = {0};
        unsigned least = UINT_MAX, most = 0;
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (topo->cpus[i].kind == kind)
                bitset_set(&all, topo->cpus[i].os_cpu);
        for (unsigned w = 0; w < plan->nworkers; w++) {
            struct bitset of_kind = plan->workers[w].cpus;
            bitset_and(&of_kind, &all);
            unsigned cores = parts_touched(topo, &of_kind, PART_CORE);
            least = cores < least ? cores : least;
            most = cores > most ? cores : most;
        }
        assert_true(most - least <= 1);
    }
}

/* Slices have equal numbers of cores, siblings together. They touch as many caches as they can, if
 * the cores are alike. */
static void check_spread(const struct topo *topo, const struct plan *plan,
                         const struct bitset *usable)
{
    struct spread size = {0}, caches = {0};
    struct bitset all = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        include(&size, parts_touched(topo, cpus, PART_CORE));
        include(&caches, parts_touched(topo, cpus, PART_LLC));
        bitset_or(&all, cpus);
        assert_true(keeps_whole(topo, cpus, usable, PART_CORE));
    }
    check_fair("spread", size);
    check_kinds(topo, plan);
    assert_true(bitset_equal(&all, usable));
    if (size.max > 1 && parts_touched(topo, usable, PART_LLC) > 1 &&
        !topo_mixes_cores(topo, usable))
        assert_true(caches.max > 1);
}

static void check_cores(const struct topo *topo, const struct plan *plan,
                        const struct bitset *usable)
{
    struct spread size = {0};
    unsigned total = 0;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        unsigned ncpus = bitset_count(&plan->workers[w].cpus);
        assert_int_equal(parts_touched(topo, &plan->workers[w].cpus, PART_CORE), ncpus);
        include(&size, ncpus);
        total += ncpus;
    }
    check_fair("cores", size);
    assert_int_equal(total, parts_touched(topo, usable, PART_CORE));
}

static void check_llc(const struct topo *topo, const struct plan *plan,
                      const struct bitset *all_usable)
{
    const struct bitset inside = of_llcs(topo, all_usable), *usable = &inside;
    unsigned llcs = parts_touched(topo, usable, PART_LLC);
    bool enough = llcs >= plan->nworkers;
    struct spread size = {0};
    struct bitset all = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        unsigned touched = parts_touched(topo, cpus, PART_LLC);
        include(&size, touched);
        bitset_or(&all, cpus);
        assert_true(keeps_whole(topo, cpus, usable, enough ? PART_LLC : PART_CORE));
        if (!enough)
            assert_int_equal(touched, 1);
    }
    check_fair("llc", size);
    assert_true(bitset_equal(&all, usable));
}

/* Workers of one node have equal shares of it, and no node is idle while another is shared. */
static void check_node_shares(const struct topo *topo, const struct plan *plan,
                              const struct bitset *usable)
{
    struct spread *size = calloc(topo->nnodes, sizeof(*size));
    unsigned used = 0, nodes = parts_touched(topo, usable, nodes_of(plan));
    for (unsigned w = 0; w < plan->nworkers; w++)
        include(&size[node_of(topo, &plan->workers[w].cpus, nodes_of(plan))],
                parts_touched(topo, &plan->workers[w].cpus, PART_CORE));
    for (unsigned n = 0; n < topo->nnodes; n++) {
        check_fair("node", size[n]);
        used += size[n].max > 0;
    }
    free(size);
    if (plan->placement != PLACE_GPU_LOCAL)
        assert_int_equal(used, plan->nworkers < nodes ? plan->nworkers : nodes);
}

static bool has_remote_gpu(const struct topo *topo, int node)
{
    for (unsigned g = 0; g < topo_visible_gpus(topo); g++)
        if (topo->gpus[g].node >= 0 && topo->gpus[g].node != node)
            return true;
    return false;
}

static void check_by_node(const struct topo *topo, const struct plan_request *request,
                          const struct plan *plan, const struct bitset *usable)
{
    check_node_shares(topo, plan, usable);
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct plan_worker *worker = &plan->workers[w];
        int node = node_of(topo, &worker->cpus, nodes_of(plan));
        assert_int_equal(parts_touched(topo, &worker->cpus, nodes_of(plan)), 1);
        assert_true(keeps_whole(topo, &worker->cpus, usable, PART_CORE));
        if (plan->placement == PLACE_GPU_LOCAL && !worker->background)
            assert_int_equal(topo->gpus[worker->gpu].node, node);
        if (plan->placement == PLACE_REMOTE && worker->gpu >= 0 && has_remote_gpu(topo, node)) {
            assert_true(topo->gpus[worker->gpu].node >= 0);
            assert_int_not_equal(topo->gpus[worker->gpu].node, node);
        }
        if (request->has_mem_policy)
            continue;
        assert_int_equal(worker->mem_policy, MEM_BIND);
        assert_int_equal(bitset_count(&worker->mem_nodes), 1);
        int memory = topo_memory_node(topo, node);
        bool local = bitset_test(&worker->mem_nodes, topo->nodes[memory].os_node);
        assert_int_equal(local, plan->placement != PLACE_REMOTE);
    }
}

static int package_of(const struct topo *topo, const struct bitset *cpus)
{
    for (unsigned i = 0; i < topo->ncpus; i++)
        if (bitset_test(cpus, topo->cpus[i].os_cpu))
            return topo->cpus[i].package;
    return -1;
}

/* Workers of one package have equal shares of it and use all its cores. */
static void check_package_local(const struct topo *topo, const struct plan_request *request,
                                const struct plan *plan, const struct bitset *usable)
{
    for (unsigned p = 0; p < topo->npackages; p++) {
        struct spread size = {0};
        struct bitset used = {0}, all = {0};
        for (unsigned i = 0; i < topo->ncpus; i++)
            if (topo->cpus[i].package == (int)p && bitset_test(usable, topo->cpus[i].os_cpu))
                bitset_set(&all, topo->cpus[i].os_cpu);
        for (unsigned w = 0; w < plan->nworkers; w++)
            if (package_of(topo, &plan->workers[w].cpus) == (int)p) {
                include(&size, parts_touched(topo, &plan->workers[w].cpus, PART_CORE));
                bitset_or(&used, &plan->workers[w].cpus);
            }
        check_fair("package", size);
        assert_true(bitset_empty(&used) || request->cores_each || bitset_equal(&used, &all));
    }
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct plan_worker *worker = &plan->workers[w];
        assert_true(keeps_whole(topo, &worker->cpus, usable, PART_CORE));
        if (worker->background)
            continue;
        const struct topo_node *node = &topo->nodes[topo->gpus[worker->gpu].node];
        assert_int_equal(package_of(topo, &node->cpus), package_of(topo, &worker->cpus));
        if (!request->has_mem_policy && node->allowed) {
            assert_int_equal(worker->mem_policy, MEM_PREFERRED);
            assert_true(bitset_test(&worker->mem_nodes, node->os_node));
            assert_int_equal(bitset_count(&worker->mem_nodes), 1);
        }
    }
}

static void check_pcores(const struct topo *topo, const struct plan_request *request,
                         const struct plan *plan, const struct bitset *usable)
{
    struct spread front = {0}, behind = {0};
    int weakest_front = 99, strongest_behind = -1, strongest = -1;
    for (unsigned i = 0; i < topo->ncpus; i++)
        for (unsigned w = 0; w < plan->nworkers; w++) {
            int kind = topo->cpus[i].kind;
            if (bitset_test(usable, topo->cpus[i].os_cpu) && kind > strongest)
                strongest = kind;
            if (!bitset_test(&plan->workers[w].cpus, topo->cpus[i].os_cpu))
                continue;
            if (w < request->workers && kind < weakest_front)
                weakest_front = kind;
            if (w >= request->workers && kind > strongest_behind)
                strongest_behind = kind;
        }
    assert_true(strongest_behind < weakest_front);
    if (topo->nkinds == 2)
        assert_int_equal(weakest_front, strongest);
    for (unsigned w = 0; w < plan->nworkers; w++) {
        include(w < request->workers ? &front : &behind,
                parts_touched(topo, &plan->workers[w].cpus, PART_CORE));
        assert_true(keeps_whole(topo, &plan->workers[w].cpus, usable, PART_CORE));
    }
    check_fair("pcores", front);
    check_fair("pcores background", behind);
}

static void check_policy(const struct topo *topo, const struct plan_request *request,
                         const struct plan *plan, const struct bitset *usable)
{
    switch (plan->placement) {
    case PLACE_NONE:
    case PLACE_SIZED:
    case PLACE_PASSIVE:
        check_unpinned(plan, usable);
        break;
    case PLACE_SAME:
        check_same(plan, usable);
        break;
    case PLACE_PARTITION:
        check_partition(plan, usable);
        break;
    case PLACE_SPREAD:
        check_spread(topo, plan, usable);
        break;
    case PLACE_CORES:
        check_cores(topo, plan, usable);
        break;
    case PLACE_LLC:
        check_llc(topo, plan, usable);
        break;
    case PLACE_NUMA:
    case PLACE_GPU_LOCAL:
    case PLACE_REMOTE:
        check_by_node(topo, request, plan, usable);
        break;
    case PLACE_PACKAGE_LOCAL:
        check_package_local(topo, request, plan, usable);
        break;
    case PLACE_PCORES:
        check_pcores(topo, request, plan, usable);
        break;
    case PLACEMENTS:
        fail();
    }
}

/* Each refusal has a cause that is visible without the planner. */
static void check_refused(const struct topo *topo, const struct plan_request *request,
                          const struct bitset *usable, const struct err *err)
{
    unsigned total = request->workers + request->background, n = bitset_count(usable);
    unsigned cores = parts_touched(topo, usable, PART_CORE);
    assert_true(err->msg[0]);
    if (n == 0)
        return;
    switch (request->placement) {
    case PLACE_NONE:
    case PLACE_SIZED:
    case PLACE_PASSIVE:
    case PLACE_SAME:
        fail_msg("refused: %s", err->msg);
        break;
    case PLACE_PARTITION:
        assert_true(total > n);
        break;
    case PLACE_SPREAD:
    case PLACE_CORES:
        assert_true(total > cores);
        break;
    case PLACE_LLC: {
        const struct bitset inside = of_llcs(topo, usable);
        assert_true(total > parts_touched(topo, &inside, PART_CORE));
        break;
    }
    case PLACE_NUMA:
    case PLACE_REMOTE: {
        unsigned nodes_cores = 0;
        for (unsigned i = 0; i < topo->nnodes; i++) {
            struct bitset local = topo->nodes[i].cpus;
            bitset_and(&local, usable);
            if (topo->nodes[i].allowed)
                nodes_cores += parts_touched(topo, &local, PART_CORE);
        }
        assert_true(total > nodes_cores);
        break;
    }
    default: /* gpu-local and pcores depend on the node and the kind of cores */
        break;
    }
}

static void check_skipped(const struct topo *topo, const struct plan *plan,
                          const struct bitset *usable)
{
    assert_true(plan->reason[0]);
    assert_int_equal(plan->nworkers, 0);
    assert_null(plan->workers);
    if (plan->placement <= PLACE_PARTITION)
        fail_msg("skipped: %s", plan->reason);
    const struct bitset inside = of_llcs(topo, usable);
    if (plan->placement == PLACE_LLC || plan->placement == PLACE_SPREAD)
        assert_true(parts_touched(topo, &inside, PART_LLC) <= 1);
    if (plan->placement == PLACE_CORES)
        assert_int_equal(parts_touched(topo, usable, PART_CORE), bitset_count(usable));
}

void fixture_check_plan(const struct topo *topo, const struct plan_request *request)
{
    struct bitset usable = usable_cpus(topo, request);
    struct plan plan, again;
    struct err err = {0};
    int rc = plan_make(topo, request, &plan, &err);
    if (rc) {
        assert_true(rc == -EINVAL || rc == -ENOSPC);
        check_refused(topo, request, &usable, &err);
    } else if (plan.status == PLAN_SKIPPED) {
        check_skipped(topo, &plan, &usable);
    } else {
        assert_string_equal(plan.reason, "");
        assert_int_equal(plan.nworkers, request->workers + request->background);
        for (unsigned w = 0; w < plan.nworkers; w++)
            check_worker(topo, request, &plan, w, &usable);
        check_gpus(topo, request, &plan, &usable);
        if (placement_infos[plan.placement].disjoint)
            assert_false(plan_overlaps(&plan));
        check_policy(topo, request, &plan, &usable);
        assert_int_equal(plan_make(topo, request, &again, &err), 0);
        assert_int_equal(again.nworkers, plan.nworkers);
        assert_memory_equal(again.workers, plan.workers, plan.nworkers * sizeof(*plan.workers));
        plan_free(&again);
    }
    plan_free(&plan);
}

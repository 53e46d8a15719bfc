#include "harness/plan/policy.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/plan/slices.h"

void policy_refuse(struct plan *plan, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(plan->reason, sizeof(plan->reason), fmt, ap);
    va_end(ap);
}

int policy_check_room(const struct plan *plan, unsigned workers, unsigned have, const char *unit,
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

int policy_near_nodes(const struct plan_space *space, const struct plan *plan, int **nodes,
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

/* Assigns units of one kind in blocks to plan->workers[from .. from + n). */
static int assign_blocks(const struct plan_space *space, const struct bitset *available,
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
        rc = policy_check_room(plan, n, units.n, names[kind], err);
    if (!rc && workers && n) {
        for (unsigned w = 0; w < n; w++)
            workers[w] = &plan->workers[from + w];
        units_assign_blocks(&units, 0, units.n, workers, n);
    }
    units_free(&units);
    free(workers);
    return rc;
}

/* True if so many cores of the node are left. */
static bool has_room(const struct units *cores, const struct bitset *taken, int node, unsigned n)
{
    unsigned left = 0;
    for (unsigned i = 0; i < cores->n; i++)
        left += cores->unit[i].node == node && !bitset_test(taken, i);
    return left >= n;
}

/* Assigns each worker as many cores as the request says, of one node while one has so many left;
 * there may be more cores. */
static int assign_counts(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units cores;
    struct bitset taken = {0};
    int rc = units_make(space->topo, &space->available, UNIT_CORE, &cores, err);
    for (unsigned w = 0; w < plan->nworkers && !rc; w++) {
        unsigned left = space->request->cores[w], at = 0;
        while (at < cores.n && !has_room(&cores, &taken, cores.unit[at].node, left))
            at++;
        for (unsigned i = 0; i < cores.n && left; i++) {
            if (bitset_test(&taken, i) ||
                (at < cores.n && cores.unit[i].node != cores.unit[at].node))
                continue;
            units_give(&cores, i, &plan->workers[w]);
            bitset_set(&taken, i);
            left--;
        }
        if (left)
            rc =
                err_set(err, -ENOSPC, "more cores for workers than the %u that there are", cores.n);
    }
    units_free(&cores);
    return rc;
}

/* Assigns CPUs by number, as people write CPU lists; with cores_each it assigns whole cores. */
static int place_partition(const struct plan_space *space, struct plan *plan, struct err *err)
{
    if (space->request->cores)
        return assign_counts(space, plan, err);
    enum unit_kind kind = space->request->cores_each ? UNIT_CORE : UNIT_CPU;
    return assign_blocks(space, &space->available, kind, plan, 0, plan->nworkers, err);
}

/* ---- spread, cores, llc: by cores and caches ---- */

/* In one cache there is nothing to spread over. `spread` then differs from `partition` only by
 * assigning whole cores and equal numbers of each kind of core. */
static void why_not_spread(const struct plan_space *space, struct plan *plan)
{
    if (!space_has_one_llc(space)) /* one cache is one package: a cache never spans two */
        return;
    if (plan->nworkers > space_count_cores(space))
        policy_refuse(plan,
                      "all usable CPUs share one package and one last-level cache, of fewer cores "
                      "than workers");
    else if (space_is_uniform(space) && space_partition_keeps_cores(space))
        policy_refuse(plan,
                      "all usable CPUs share one package and one last-level cache, and partition "
                      "gives workers whole cores of it too");
}

/* By kind, else in the topology's order. */
static int compare_kind(const void *a, const void *b)
{
    const struct unit *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/*
 * Assigns cores round-robin, by kind and in cache order. A cache with at least as many cores as
 * workers gives some to every worker, and no worker gets two cores of a smaller cache. So each
 * slice touches as many caches and packages as possible.
 */
static int place_spread(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units cores;
    int rc = units_make(space->topo, &space->available, UNIT_CORE, &cores, err);
    if (!rc)
        rc = policy_check_room(plan, plan->nworkers, cores.n, "core", err);
    if (!rc) {
        qsort(cores.unit, cores.n, sizeof(*cores.unit), compare_kind);
        units_assign_round_robin(&cores, plan->workers, plan->nworkers);
    }
    units_free(&cores);
    return rc;
}

static int place_cores(const struct plan_space *space, struct plan *plan, struct err *err)
{
    return assign_blocks(space, &space->available, UNIT_THREAD, plan, 0, plan->nworkers, err);
}

/* With one thread a core, `cores` and `partition` differ only if Linux numbers the CPUs in another
 * order than that of the topology. */
static void why_not_cores(const struct plan_space *space, struct plan *plan)
{
    struct err err;
    if (space_count_cores(space) < space->ncpus)
        return;
    if (plan->nworkers > space->ncpus) {
        policy_refuse(plan, "the system reports one usable thread a core, and fewer than workers");
        return;
    }
    bool equal = !place_cores(space, plan, &err) && space_partition_equals(space, plan);
    for (unsigned w = 0; w < plan->nworkers; w++)
        plan->workers[w].cpus = (struct bitset){0};
    if (equal)
        policy_refuse(plan,
                      "the system reports one usable thread a core; cores would equal partition");
}

static void why_not_llc(const struct plan_space *space, struct plan *plan)
{
    if (!space_has_one_llc(space))
        return;
    if (space->topo->llc_level == 0)
        policy_refuse(plan, "no shared cache is reported and there is one package");
    else
        policy_refuse(plan, "fewer than two last-level caches (L%u) have usable CPUs",
                      space->topo->llc_level);
}

/* More workers than caches: each cache's cores are divided among some of them. */
static int share_llcs(const struct plan_space *space, struct plan *plan, struct err *err)
{
    struct units cores;
    struct group *caches = NULL;
    unsigned *home = calloc(plan->nworkers, sizeof(*home));
    int *near = NULL;
    const struct bitset cpus = space_llc_cpus(space);
    int n = 0, rc = units_make(space->topo, &cpus, UNIT_CORE, &cores, err);
    if (!rc && !home)
        rc = err_set(err, -ENOMEM, "no memory to plan %u workers", plan->nworkers);
    if (!rc)
        rc = policy_check_room(plan, plan->nworkers, cores.n, "core", err);
    if (!rc)
        rc = policy_near_nodes(space, plan, &near, err);
    if (!rc)
        rc = n = units_group(&cores, false, &caches, err);
    if (rc > 0) {
        groups_fill(caches, (unsigned)n, plan->nworkers, near, home);
        rc = groups_assign(&cores, caches, (unsigned)n, home, plan, err);
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
    const struct bitset cpus = space_llc_cpus(space);
    int rc = units_make(space->topo, &cpus, UNIT_LLC, &llcs, err);
    bool enough = llcs.n >= plan->nworkers;
    units_free(&llcs);
    if (rc)
        return rc;
    return enough ? assign_blocks(space, &cpus, UNIT_LLC, plan, 0, plan->nworkers, err)
                  : share_llcs(space, plan, err);
}

/* ---- pcores ---- */

static void why_not_pcores(const struct plan_space *space, struct plan *plan)
{
    if (!topo_mixes_cores(space->topo, &space->available))
        policy_refuse(plan,
                      "all usable cores are of one kind (no performance and efficiency cores)");
}

/*
 * Splits the CPUs into performance cores (strong) and others (weak). The most powerful kind is
 * strong; weaker kinds are added only while there are fewer cores than workers. The weakest kind is
 * never strong.
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
        rc = assign_blocks(space, &strong, UNIT_CORE, plan, 0, workers, err);
    if (!rc)
        rc = assign_blocks(space, &weak, UNIT_CORE, plan, workers, plan->nworkers - workers, err);
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
    [PLACE_NUMA] = {policy_why_not_numa, policy_place_numa},
    [PLACE_GPU_LOCAL] = {policy_why_not_gpu_local, policy_place_gpu_local},
    [PLACE_PACKAGE_LOCAL] = {policy_why_not_package_local, policy_place_package_local},
    [PLACE_REMOTE] = {policy_why_not_numa, policy_place_remote},
    [PLACE_PCORES] = {why_not_pcores, place_pcores},
};

#include "harness/plan/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/lib/similar.h"
#include "harness/plan/policy.h"

const struct placement_info placement_infos[PLACEMENTS] = {
    [PLACE_NONE] = {"none",
                    "the scheduler decides, and every worker sizes its threads from all allowed "
                    "CPUs: the default",
                    false, false, 0},
    [PLACE_SIZED] = {"sized",
                     "unpinned, but threads = allowed CPUs / workers: separates oversubscription "
                     "from placement",
                     false, false, 2},
    [PLACE_PASSIVE] = {"passive",
                       "unpinned, threads from all CPUs, but OMP_WAIT_POLICY=passive: separates "
                       "spinning from oversubscription",
                       false, false, 1},
    [PLACE_SAME] = {"same", "every worker pinned to the same first slice: the classic mistake",
                    false, true, 0},
    [PLACE_PARTITION] = {"partition", "disjoint contiguous slices, as taskset -c", true, true, 4},
    [PLACE_SPREAD] = {"spread", "disjoint slices, spread over packages and caches", true, true, 5},
    [PLACE_CORES] = {"cores", "disjoint, one thread a physical core", true, true, 5},
    [PLACE_LLC] = {"llc",
                   "disjoint slices that never split a last-level cache between workers where "
                   "avoidable",
                   true, true, 5},
    [PLACE_NUMA] = {"numa",
                    "slice inside one NUMA node with its memory bound there, as numactl "
                    "--cpunodebind --membind",
                    true, true, 6},
    [PLACE_GPU_LOCAL] = {"gpu-local", "as numa, on the node nearest to the worker's GPU", true,
                         true, 6},
    [PLACE_PACKAGE_LOCAL] = {"package-local",
                             "slice inside the package of the worker's GPU, all its nodes used, "
                             "memory preferred on the GPU's node",
                             true, true, 6},
    [PLACE_REMOTE] = {"remote", "CPUs of one node, memory and GPU of another: the negative control",
                      true, true, 0},
    [PLACE_PCORES] = {"pcores", "the fastest cores for the workers, the others for background",
                      true, true, 5},
};

/* As many workers as a bitset holds CPUs; also keeps sums of two counts from overflowing. */
enum { PLAN_WORKERS_MAX = BITSET_BITS };

const char *mem_policy_name(enum mem_policy policy)
{
    static const char *const names[] = {[MEM_DEFAULT] = "default",
                                        [MEM_BIND] = "bind",
                                        [MEM_PREFERRED] = "preferred",
                                        [MEM_INTERLEAVE] = "interleave"};
    return names[policy];
}

/* placement_parse on the first n characters. */
static int parse_name(const char *name, size_t n, enum placement *placement, struct err *err)
{
    char known[160] = "";
    size_t used = 0;
    struct similar near = similar_to(name, n);
    for (int p = 0; p < PLACEMENTS; p++) {
        const char *candidate = placement_infos[p].name;
        if (strlen(candidate) == n && strncmp(candidate, name, n) == 0) {
            *placement = (enum placement)p;
            return 0;
        }
        used +=
            (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", p ? ", " : "", candidate);
        similar_offer(&near, candidate);
    }
    return err_set(err, -EINVAL, "unknown placement '%.*s'%s known: %s", (int)(n < 60 ? n : 60),
                   name, similar_hint(&near, ""), known);
}

int placement_parse(const char *name, enum placement *placement, struct err *err)
{
    return parse_name(name, strlen(name), placement, err);
}

int placement_parse_list(const char *text, enum placement out[PLACEMENTS], struct err *err)
{
    bool seen[PLACEMENTS] = {false};
    int n = 0;
    for (const char *at = text;; at++) {
        enum placement placement;
        size_t length = strcspn(at, ",");
        int rc = parse_name(at, length, &placement, err);
        if (rc)
            return rc;
        if (!seen[placement])
            out[n++] = placement;
        seen[placement] = true;
        at += length;
        if (!*at)
            return n;
    }
}

/* Lists are cut to fit into one readable line. */

static int take_requested(const struct plan_request *request, struct bitset *available,
                          struct err *err)
{
    struct bitset outside = request->cpus;
    if (bitset_empty(available))
        return err_set(err, -EINVAL, "this machine allows us no CPU");
    if (bitset_empty(&request->cpus))
        return 0;
    bitset_andnot(&outside, available);
    if (!bitset_empty(&outside))
        return err_set(err, -EINVAL, "CPUs %s are not there or not allowed; allowed: %s",
                       bitset_format(&outside), bitset_format(available));
    *available = request->cpus;
    return 0;
}

/* Adds the CPUs of the first `cores` cores of `cpus` to `first`. Returns how many `cpus` has. */
static unsigned take_cores(const struct topo *topo, const struct bitset *cpus, unsigned cores,
                           struct bitset *first)
{
    unsigned seen = 0;
    int last = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (!bitset_test(cpus, cpu->os_cpu))
            continue;
        seen += cpu->core != last;
        last = cpu->core;
        if (seen <= cores)
            bitset_set(first, cpu->os_cpu);
    }
    return seen;
}

int plan_set_apart(const struct topo *topo, unsigned cores, struct plan_request *request,
                   struct bitset *apart, struct err *err)
{
    struct bitset rest = {0};
    topo_allowed_cpus(topo, apart);
    int rc = take_requested(request, apart, err);
    unsigned all = take_cores(topo, apart, 0, &rest);
    unsigned taken = cores ? cores : all >= 16 ? all / 8 : 1;
    unsigned kept = request->reserve_cores + request->workers + request->background;
    if (rc || (!cores && all < taken + kept))
        return rc;
    if (taken + request->reserve_cores >= all)
        return err_set(err, -EINVAL,
                       "%u cores for the clients leave no core for servers: there %s %u", taken,
                       all == 1 ? "is" : "are", all);
    (void)take_cores(topo, apart, all - taken, &rest);
    bitset_andnot(apart, &rest);
    request->cpus = rest;
    return 0;
}

static int keep_reserve(const struct topo *topo, unsigned reserve_cores, struct bitset *available,
                        struct err *err)
{
    struct bitset reserved = {0};
    unsigned seen = take_cores(topo, available, reserve_cores, &reserved);
    bitset_andnot(available, &reserved);
    if (bitset_empty(available))
        return err_set(err, -EINVAL, "a reserve of %u core%s leaves nothing of the %u usable %s",
                       reserve_cores, reserve_cores == 1 ? "" : "s", seen,
                       seen == 1 ? "one" : "ones");
    return 0;
}

static int check_request(const struct plan_request *request, struct err *err)
{
    if (request->workers < 1 || request->workers > PLAN_WORKERS_MAX ||
        request->background > PLAN_WORKERS_MAX)
        return err_set(err, -EINVAL,
                       "%u workers and %u in the background: from 1 and 0 up to %d are possible",
                       request->workers, request->background, PLAN_WORKERS_MAX);
    return 0;
}

/* True if the node has usable memory and CPUs in `available`, or is unknown (-1). */
static bool can_host(const struct topo *topo, const struct bitset *available, int node)
{
    return node < 0 ||
           (topo->nodes[node].allowed && bitset_intersects(&topo->nodes[node].cpus, available));
}

/* Chooses n GPUs, each from the node with the fewest chosen so far. GPUs of nodes where no worker
 * can be placed come last. */
static int take_gpus(const struct topo *topo, const struct bitset *available, unsigned n,
                     bool *taken, struct err *err)
{
    unsigned *given = calloc(topo->nnodes + 1, sizeof(*given)), visible = topo_visible_gpus(topo);
    if (!given)
        return err_set(err, -ENOMEM, "no memory to plan %u GPUs", n);
    while (n--) {
        unsigned best = visible, fewest = UINT_MAX;
        for (unsigned i = 0; i < visible; i++) {
            int node = topo->gpus[i].node;
            unsigned of_node = can_host(topo, available, node) ? given[node + 1] : UINT_MAX - 1;
            if (taken[i] || of_node >= fewest)
                continue;
            best = i;
            fewest = of_node;
        }
        assert(best < visible); /* there are more than n */
        taken[best] = true;
        given[topo->gpus[best].node + 1]++;
    }
    free(given);
    return 0;
}

/* Gives GPUs to workers in order, as slices of CPUs are given. */
static int give_gpus(const struct topo *topo, unsigned nworkers, struct plan *plan, struct err *err)
{
    unsigned visible = topo_visible_gpus(topo), next = 0;
    bool *taken = calloc(visible + 1, sizeof(*taken));
    int rc = taken ? 0 : err_set(err, -ENOMEM, "no memory to plan %u GPUs", visible);
    if (!rc && nworkers < visible)
        rc = take_gpus(topo, &plan->available, nworkers, taken, err);
    for (unsigned w = 0; w < nworkers && visible && !rc; w++) {
        while (nworkers < visible && !taken[next])
            next++;
        plan->workers[w].gpu = (int)(next++ % visible);
    }
    free(taken);
    return rc;
}

static int make_workers(const struct topo *topo, const struct plan_request *request,
                        struct plan *plan, struct err *err)
{
    unsigned n = request->workers + request->background;
    plan->workers = calloc(n, sizeof(*plan->workers));
    if (!plan->workers)
        return err_set(err, -ENOMEM, "no memory to plan %u workers", n);
    plan->nworkers = n;
    for (unsigned w = 0; w < n; w++) {
        plan->workers[w].background = w >= request->workers;
        plan->workers[w].gpu = request->gpus && w < request->workers ? request->gpus[w] : -1;
    }
    return request->gpus ? 0 : give_gpus(topo, request->workers, plan, err);
}

/*
 * Sets the memory nodes of a worker whose placement sets none: those whose memory its CPUs use, or
 * all nodes of ordinary memory if an unpinned worker interleaves. The kernel takes one node only
 * for `preferred`: the node of most of the worker's CPUs.
 */
static void find_mem_nodes(const struct topo *topo, bool pinned, enum mem_policy policy,
                           struct plan_worker *worker)
{
    unsigned cpus[BITSET_BITS] = {0}, best = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        int node = topo_memory_node(topo, topo_own_node(topo, &topo->cpus[i]));
        if (node >= 0 && bitset_test(&worker->cpus, topo->cpus[i].os_cpu))
            cpus[node]++;
    }
    for (unsigned n = 0; n < topo->nnodes; n++) {
        bool everywhere = !pinned && policy == MEM_INTERLEAVE && !topo->nodes[n].kind[0];
        if (!topo->nodes[n].allowed || (!cpus[n] && !everywhere))
            continue;
        if (policy == MEM_PREFERRED) {
            if (cpus[n] <= best)
                continue;
            worker->mem_nodes = (struct bitset){0};
        }
        best = cpus[n] > best ? cpus[n] : best;
        bitset_set(&worker->mem_nodes, topo->nodes[n].os_node);
    }
}

static int finish_cores(const struct topo *topo, const struct plan_request *request,
                        struct plan *plan, struct err *err)
{
    bool cuts = request->cores_each && request->cores_each != PLAN_CORES_ALL;
    for (unsigned w = 0; cuts && w < request->workers; w++) {
        struct bitset kept = {0};
        unsigned has = take_cores(topo, &plan->workers[w].cpus, request->cores_each, &kept);
        if (has < request->cores_each)
            return err_set(err, -ENOSPC, "%u cores a worker, but the slice of worker %u has %u",
                           request->cores_each, w, has);
        bitset_andnot(&plan->available, &plan->workers[w].cpus);
        bitset_or(&plan->available, &kept);
        plan->workers[w].cpus = kept;
    }
    return 0;
}

static int finish_memory(const struct topo *topo, const struct plan_request *request,
                         struct plan *plan, struct err *err)
{
    if (!request->has_mem_policy)
        return 0;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        struct plan_worker *worker = &plan->workers[w];
        worker->mem_policy = request->mem_policy;
        if (request->mem_policy == MEM_DEFAULT)
            memset(&worker->mem_nodes, 0, sizeof(worker->mem_nodes));
        else if (bitset_empty(&worker->mem_nodes))
            find_mem_nodes(topo, placement_infos[plan->placement].pinned, request->mem_policy,
                           worker);
        if (request->mem_policy != MEM_DEFAULT && bitset_empty(&worker->mem_nodes))
            return err_set(err, -ENOSPC,
                           "memory policy '%s' is not possible: no NUMA node has memory that we "
                           "may use",
                           mem_policy_name(request->mem_policy));
    }
    return 0;
}

/* How many threads of a worker the quota lets run at once; UINT_MAX = no limit. */
static unsigned quota_threads(const struct plan_request *request, const struct plan *plan)
{
    bool as_people_run = plan->placement == PLACE_NONE || plan->placement == PLACE_PASSIVE ||
                         plan->placement == PLACE_SAME;
    double share = request->cpu_quota / plan->nworkers;
    if (!(request->cpu_quota > 0) || as_people_run || share >= PLAN_WORKERS_MAX)
        return UINT_MAX;
    return share < 1 ? 1 : (unsigned)share;
}

static void finish_teams(const struct plan_request *request, struct plan *plan)
{
    unsigned most = quota_threads(request, plan);
    plan->cpu_quota = request->cpu_quota;
    plan->threads = request->threads;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        struct plan_worker *worker = &plan->workers[w];
        assert(!bitset_empty(&worker->cpus));
        worker->passive = worker->passive || (request->passive && !worker->background);
        if (!worker->background && request->threads)
            worker->threads = request->threads;
        else if (!worker->threads)
            worker->threads = bitset_count(&worker->cpus);
        if (worker->threads > most && (worker->background || !request->threads))
            worker->threads = most;
    }
}

void plan_skip(struct plan *plan)
{
    free(plan->workers);
    plan->workers = NULL;
    plan->nworkers = 0;
    plan->status = PLAN_SKIPPED;
}

unsigned plan_default_workers(const struct topo *topo)
{
    unsigned gpus = topo_visible_gpus(topo);
    return gpus > 2 ? gpus : 2;
}

int plan_make(const struct topo *topo, const struct plan_request *request, struct plan *plan,
              struct err *err)
{
    struct plan_space space = {.topo = topo, .request = request};
    const struct policy *policy = &plan_policies[request->placement];
    *plan = (struct plan){.placement = request->placement};
    int rc = check_request(request, err);
    if (rc)
        return rc;
    topo_allowed_cpus(topo, &space.available);
    rc = take_requested(request, &space.available, err);
    if (!rc)
        rc = keep_reserve(topo, request->reserve_cores, &space.available, err);
    plan->available = space.available;
    if (!rc)
        rc = make_workers(topo, request, plan, err);
    if (rc)
        return rc;
    space.ncpus = bitset_count(&space.available);
    if (request->cores_each && !placement_infos[request->placement].pinned)
        (void)snprintf(plan->reason, sizeof(plan->reason), "%s binds no worker to cores of its own",
                       placement_infos[request->placement].name);
    else if (policy->why_not)
        policy->why_not(&space, plan);
    if (plan->reason[0]) {
        plan_skip(plan);
        return 0;
    }
    rc = policy->place(&space, plan, err);
    if (!rc)
        rc = finish_cores(topo, request, plan, err);
    if (!rc)
        rc = finish_memory(topo, request, plan, err);
    if (!rc)
        finish_teams(request, plan);
    return rc;
}

int plan_make_or_skip(const struct topo *topo, const struct plan_request *request,
                      struct plan *plan, struct err *err)
{
    struct err refused;
    int rc = plan_make(topo, request, plan, &refused);
    if (rc != -ENOSPC)
        return rc ? err_set(err, rc, "%s", refused.msg) : 0;
    (void)snprintf(plan->reason, sizeof(plan->reason), "%.199s", refused.msg);
    plan_skip(plan);
    return 0;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    free(plan->workers);
    plan->workers = NULL;
    plan->nworkers = 0;
}

unsigned plan_requested(const struct plan *plan)
{
    return plan->nworkers - plan->has_dose;
}

/* CPUs of a dose: of memory one for its probe, at least one for its load; of h2d for its copies. */
enum { DOSE_CPUS_LEAST = 2 };

/* Finds the allowed CPUs that the workers do not get. -EINVAL: fewer than DOSE_CPUS_LEAST. */
static int find_dose_cpus(const struct topo *topo, enum dose_kind kind, const struct plan *plan,
                          struct bitset *cpus, struct err *err)
{
    struct bitset allowed = {0}, workers = {0};
    topo_allowed_cpus(topo, &allowed);
    *cpus = allowed;
    bitset_andnot(cpus, &plan->available);
    if (bitset_count(cpus) >= DOSE_CPUS_LEAST)
        return 0;
    const unsigned n = bitset_count(&allowed);
    const unsigned dose_cpus = n / 4 > DOSE_CPUS_LEAST ? n / 4 : DOSE_CPUS_LEAST;
    if (n <= DOSE_CPUS_LEAST)
        return err_set(err, -EINVAL,
                       "a dose of %s needs %d CPUs beside those of the workers, and %u %s allowed: "
                       "only a dose of cpu or throttle is possible here",
                       dose_names[kind], DOSE_CPUS_LEAST, n, n == 1 ? "is" : "are");
    for (int cpu = bitset_next(&allowed, 0); bitset_count(&workers) < n - dose_cpus;
         cpu = bitset_next(&allowed, (unsigned)cpu + 1))
        bitset_set(&workers, (unsigned)cpu);
    return err_set(err, -EINVAL,
                   "a dose of %s needs %d CPUs beside those of the workers: leave it some, such as "
                   "with --cpus %s",
                   dose_names[kind], DOSE_CPUS_LEAST, bitset_format(&workers));
}

int plan_add_dose(const struct topo *topo, enum dose_kind kind, struct plan *plan, struct err *err)
{
    struct plan_worker dose = {.background = true, .gpu = -1};
    int rc = dose_is_share(kind) ? 0 : find_dose_cpus(topo, kind, plan, &dose.cpus, err);
    if (rc)
        return rc;
    for (unsigned w = 0; dose_is_share(kind) && w < plan->nworkers; w++)
        bitset_or(&dose.cpus, &plan->workers[w].cpus);
    dose.threads = bitset_count(&dose.cpus);
    struct plan_worker *grown = realloc(plan->workers, (plan->nworkers + 1) * sizeof(*grown));
    if (!grown)
        return err_set(err, -ENOMEM, "no memory to plan a dose");
    plan->workers = grown;
    plan->workers[plan->nworkers++] = dose;
    plan->has_dose = true;
    return 0;
}

bool plan_is_oversubscribed(const struct plan *plan)
{
    const unsigned n = plan_requested(plan);
    for (unsigned w = 0; w < n; w++) {
        struct bitset cpus = {0};
        unsigned threads = 0;
        for (unsigned v = 0; v < n; v++)
            if (bitset_intersects(&plan->workers[v].cpus, &plan->workers[w].cpus)) {
                bitset_or(&cpus, &plan->workers[v].cpus);
                threads += plan->workers[v].threads;
            }
        if (threads > bitset_count(&cpus))
            return true;
    }
    return false;
}

bool plan_overlaps(const struct plan *plan)
{
    struct bitset taken = {0};
    const unsigned n = plan_requested(plan);
    for (unsigned w = 0; w < n; w++) {
        if (bitset_intersects(&taken, &plan->workers[w].cpus))
            return true;
        bitset_or(&taken, &plan->workers[w].cpus);
    }
    return false;
}

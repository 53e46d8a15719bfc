#include "harness/plan/check.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/lib/text.h"
#include "harness/machine/topo.h"
#include "harness/machine/topo_check.h"

/* Lists are cut to fit into one readable line. */

/* Reports a finding about the workers or CPUs in `set`; nothing if the set is empty. */
__attribute__((format(printf, 6, 7))) static void report(struct findings *findings, const char *id,
                                                         enum finding_severity severity,
                                                         const char *what, const struct bitset *set,
                                                         const char *fmt, ...)
{
    va_list ap;
    if (bitset_empty(set))
        return;
    const struct findings_about of = {
        findings, str_fmt("%s%s %s", what, bitset_count(set) == 1 ? "" : "s", bitset_format(set))};
    va_start(ap, fmt);
    findings_report(&of, id, severity, "%s", str_vfmt(fmt, ap));
    va_end(ap);
}

/* The worker that has this CPU, or -1; slices are disjoint. */
static int owner_of(const struct plan *plan, unsigned os_cpu)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (bitset_test(&plan->workers[w].cpus, os_cpu))
            return (int)w;
    return -1;
}

/* Plans `placement` for the same numbers of workers, GPUs and CPUs as `plan`. False: it does not
 * fit. The caller frees *other in both cases. */
static bool make_other(const struct topo *topo, const struct plan *plan, enum placement placement,
                       struct plan *other)
{
    struct plan_request request = {.placement = placement, .cpus = plan->available};
    struct err err;
    int *gpus = calloc(plan->nworkers + 1, sizeof(*gpus));
    *other = (struct plan){0};
    for (unsigned w = 0; gpus && w < plan->nworkers; w++) {
        *(plan->workers[w].background ? &request.background : &request.workers) += 1;
        gpus[w] = plan->workers[w].gpu;
    }
    request.gpus = gpus;
    bool can = gpus && !plan_make(topo, &request, other, &err) && other->status == PLAN_OK;
    free(gpus);
    return can;
}

/* True if `placement` fits. Adds the CPUs of its foreground workers to `used`, which may be NULL.
 */
static bool placement_fits(const struct topo *topo, const struct plan *plan,
                           enum placement placement, struct bitset *used)
{
    struct plan other;
    bool can = make_other(topo, plan, placement, &other);
    for (unsigned w = 0; can && used && w < other.nworkers; w++)
        if (!other.workers[w].background)
            bitset_or(used, &other.workers[w].cpus);
    plan_free(&other);
    return can;
}

static bool is_possible(const struct topo *topo, const struct plan *plan, enum placement placement)
{
    return placement_fits(topo, plan, placement, NULL);
}

/* "; ..." if the plan is not pcores and pcores gives all workers cores of one kind; else "". */
static const char *advise_pcores(const struct topo *topo, const struct plan *plan)
{
    struct bitset used = {0};
    return plan->placement != PLACE_PCORES && placement_fits(topo, plan, PLACE_PCORES, &used) &&
                   !topo_mixes_cores(topo, &used)
               ? "; pcores gives all workers the fastest cores"
               : "";
}

/* True if CPUs of the set differ in a member of struct topo_cpu. `member` is the offset of an int;
 * negative values mean unknown and are ignored. */
static bool spans(const struct topo *topo, const struct bitset *cpus, size_t member)
{
    int first = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        int part = *(const int *)((const char *)cpu + member);
        if (!bitset_test(cpus, cpu->os_cpu) || part < 0)
            continue;
        if (first >= 0 && part != first)
            return true;
        first = part;
    }
    return false;
}

/* A boundary that a slice may cross, and the cost of crossing it. */
struct span {
    const char *id, *part, *cost;
};

static void report_span(const struct topo *topo, const struct plan *plan, const struct span *span,
                        const struct bitset *over, struct findings *findings)
{
    if (!bitset_empty(over))
        report(findings, span->id, FINDING_NOTE, "worker", over, "CPUs of more than one %s%s: %s%s",
               span->part, bitset_count(over) == 1 ? "" : " each", span->cost,
               is_possible(topo, plan, PLACE_NUMA) ? "; numa keeps each worker inside one node"
                                                   : "");
}

static void check_spans(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    static const struct span over_packages = {
        "worker_over_packages", "package",
        "what the threads of a worker share goes from one to the other"};
    static const struct span over_nodes = {
        "worker_over_nodes", "NUMA node",
        "memory that the threads of a worker share is far from some of them"};
    struct bitset packages = {0}, nodes = {0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct bitset *cpus = &plan->workers[w].cpus;
        if (spans(topo, cpus, offsetof(struct topo_cpu, package)))
            bitset_set(&packages, w);
        else if (plan->placement != PLACE_PACKAGE_LOCAL && /* spans nodes by design */
                 spans(topo, cpus, offsetof(struct topo_cpu, node)))
            bitset_set(&nodes, w);
    }
    report_span(topo, plan, &over_packages, &packages, findings);
    report_span(topo, plan, &over_nodes, &nodes, findings);
}

/* The os_node of all nodes that the CPUs belong to, with memory or without. */
static struct bitset nodes_of(const struct topo *topo, const struct bitset *cpus)
{
    struct bitset nodes = {0};
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (bitset_intersects(&topo->nodes[i].cpus, cpus))
            bitset_set(&nodes, topo->nodes[i].os_node);
    return nodes;
}

/* True if the GPU's node is known and has CPUs, and the worker has none of them. Plans of earlier
 * runs may have GPUs that this topology does not list. */
static bool is_far(const struct topo *topo, const struct plan_worker *worker)
{
    bool told = worker->gpu >= 0 && worker->gpu < (int)topo->ngpus;
    int node = told ? topo->gpus[worker->gpu].node : -1;
    struct bitset own = nodes_of(topo, &worker->cpus);
    const struct bitset *near = node < 0 ? NULL : &topo->nodes[node].cpus;
    return near && !bitset_empty(near) && !bitset_intersects(near, &worker->cpus) &&
           !bitset_empty(&own);
}

static void report_far(const struct topo *topo, const struct plan *plan, const struct bitset *far,
                       struct findings *findings)
{
    const char *before = "", *name;
    int first = bitset_next(far, 0);
    const struct plan_worker *worker = &plan->workers[first];
    const struct topo_gpu *gpu = &topo->gpus[worker->gpu];
    struct bitset own = nodes_of(topo, &worker->cpus);
    if (gpu->cuda_ordinal >= 0)
        name = str_fmt("%d", gpu->cuda_ordinal);
    else /* hidden from this program, not from the worker */
        name = str_fmt("%s", gpu->pci_bdf);
    const char *one = str_fmt("GPU %s is near NUMA node %u, and its CPUs are on node%s %s", name,
                              topo->nodes[gpu->node].os_node, bitset_count(&own) == 1 ? "" : "s",
                              bitset_format(&own));
    if (bitset_count(far) > 1)
        before =
            str_fmt("their GPUs are near other NUMA nodes than their CPUs (of worker %d: ", first);
    report(findings, "gpu_far", FINDING_NOTE, "worker", far, "%s%s%s%s", before, one,
           before[0] ? ")" : "",
           is_possible(topo, plan, PLACE_GPU_LOCAL)
               ? "; gpu-local gives each worker CPUs near its GPU"
               : "");
}

static void check_gpus(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    struct bitset far = {0};
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (is_far(topo, &plan->workers[w]))
            bitset_set(&far, w);
    if (!bitset_empty(&far))
        report_far(topo, plan, &far, findings);
}

/* Cores whose CPUs belong to several workers: how many, their CPUs, and these workers. */
struct divided {
    unsigned ncores;
    struct bitset cpus, workers;
};

/* Returns how many cores the plan has in all. */
static unsigned find_divided(const struct topo *topo, const struct plan *plan,
                             struct divided *divided)
{
    unsigned used = 0;
    struct bitset core;
    for (unsigned at = 0; topo_next_core(topo, &at, &core);) {
        struct bitset cpus = {0}, workers = {0};
        for (int cpu = bitset_next(&core, 0); cpu >= 0;
             cpu = bitset_next(&core, (unsigned)cpu + 1)) {
            int owner = owner_of(plan, (unsigned)cpu);
            if (owner < 0)
                continue;
            bitset_set(&cpus, (unsigned)cpu);
            bitset_set(&workers, (unsigned)owner);
        }
        used += !bitset_empty(&cpus);
        if (bitset_count(&workers) < 2)
            continue;
        divided->ncores++;
        bitset_or(&divided->cpus, &cpus);
        bitset_or(&divided->workers, &workers);
    }
    return used;
}

static void check_cores(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    struct divided divided = {0};
    unsigned cores = find_divided(topo, plan, &divided);
    report(findings, "cores_divided", FINDING_NOTE, "worker", &divided.workers,
           "they share %u core%s (CPUs %s), and slow each other there%s", divided.ncores,
           divided.ncores == 1 ? "" : "s", bitset_format(&divided.cpus),
           cores >= plan->nworkers ? "; cores gives each worker cores of its own" : "");
}

/* Reports CPUs of cores that no worker uses. Unused siblings of a used core do not count: `cores`
 * leaves them idle on purpose. */
static void check_left(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    struct bitset left = plan->available, used = {0}, core;
    for (unsigned w = 0; w < plan->nworkers; w++)
        bitset_or(&used, &plan->workers[w].cpus);
    for (unsigned at = 0; topo_next_core(topo, &at, &core);)
        if (bitset_intersects(&core, &used))
            bitset_andnot(&left, &core);
    if (bitset_empty(&left))
        return;
    struct bitset package = {0};
    bool packaged = plan->placement != PLACE_PCORES &&
                    placement_fits(topo, plan, PLACE_PACKAGE_LOCAL, &package) &&
                    bitset_intersects(&package, &left);
    const char *why =
        plan->placement == PLACE_PCORES ? "pcores leaves the slower cores to background workers"
        : plan->placement == PLACE_LLC  ? "their cores are outside of the last-level caches"
        : plan->placement == PLACE_PACKAGE_LOCAL ? "each is kept inside the package of a GPU"
                                                 : "each is kept inside one NUMA node";
    const char *advice =
        packaged ? "; package-local gives them to the workers whose GPUs are on that package"
        : plan->placement != PLACE_PCORES && is_possible(topo, plan, PLACE_PARTITION)
            ? "; partition gives all CPUs to the workers"
            : "";
    report(findings, "cpus_left", FINDING_NOTE, "CPU", &left,
           "%u of %u are in no worker's slice, as %s%s", bitset_count(&left),
           bitset_count(&plan->available), why, advice);
}

/* Teams over unlike cores, pinned or not. */
static void check_teams(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    struct bitset unlike = {0};
    for (unsigned w = 0; w < plan->nworkers && topo->nkinds > 1; w++)
        if (!plan->workers[w].background && plan->workers[w].threads > 1 &&
            topo_mixes_cores(topo, &plan->workers[w].cpus))
            bitset_set(&unlike, w);
    if (!bitset_empty(&unlike))
        report(findings, "team_kinds", FINDING_NOTE, "worker", &unlike,
               "a team's CPUs are of unlike cores: at each barrier the faster ones wait "
               "for the slower ones%s",
               advise_pcores(topo, plan));
}

/* When the quota of a period is used up, the kernel stops all threads of the cgroup. */
static void check_quota(const struct plan *plan, struct findings *findings)
{
    unsigned threads = 0, allowed = bitset_count(&plan->available);
    for (unsigned w = 0; w < plan->nworkers; w++)
        threads += plan->workers[w].threads;
    if (!(plan->cpu_quota > 0) || plan->cpu_quota >= allowed)
        return;
    const bool fits = threads <= plan->cpu_quota;
    const char *advice = threads > plan->nworkers ? ", or plan fewer threads (-P sized, --threads)"
                         : plan->nworkers > 1     ? ", or plan fewer workers (-n)"
                                                  : "";
    findings_report(&(struct findings_about){findings, "CPU quota"}, "cpu_quota",
                    fits ? FINDING_NOTE : FINDING_DOUBT,
                    "the cgroup grants the time of %.3g CPU%s, and %u are allowed: the plan has %u "
                    "thread%s in all%s%s",
                    plan->cpu_quota, plan->cpu_quota == 1 ? "" : "s", allowed, threads,
                    threads == 1 ? "" : "s",
                    fits ? ""
                         : ", and the kernel stops the workers when they have used up a period's "
                           "time. Raise the quota",
                    fits ? "" : advice);
}

/* Workers on CPUs whose own nodes have no usable memory, and the nodes that they use instead. */
struct lacking {
    struct bitset workers, nodes, memory;
};

static void add_lacking(const struct topo *topo, const struct plan_worker *worker, unsigned w,
                        struct lacking *all, struct lacking *some)
{
    struct lacking of = {.memory = worker->mem_nodes};
    unsigned without = 0;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (!bitset_test(&worker->cpus, cpu->os_cpu) || !topo_lacks_memory(topo, cpu))
            continue;
        int own = topo_own_node(topo, cpu), memory = topo_memory_node(topo, own);
        without++;
        bitset_set(&of.nodes, topo->nodes[own].os_node);
        if (bitset_empty(&worker->mem_nodes) && memory >= 0)
            bitset_set(&of.memory, topo->nodes[memory].os_node);
    }
    struct lacking *to = without == bitset_count(&worker->cpus) ? all : some;
    if (!without)
        return;
    bitset_set(&to->workers, w);
    bitset_or(&to->nodes, &of.nodes);
    bitset_or(&to->memory, &of.memory);
}

static void report_lacking(const struct plan *plan, const char *id, const char *which,
                           const struct lacking *lacking, struct findings *findings)
{
    bool one = bitset_count(&lacking->nodes) == 1;
    report(findings, id, FINDING_DOUBT, "worker", &lacking->workers,
           "%s%s CPUs are on NUMA node%s %s, which ha%s no memory to use: memory is on node%s %s%s",
           which, bitset_count(&lacking->workers) == 1 ? "its" : "their", one ? "" : "s",
           bitset_format(&lacking->nodes), one ? "s" : "ve",
           bitset_count(&lacking->memory) == 1 ? "" : "s", bitset_format(&lacking->memory),
           plan->placement == PLACE_REMOTE ? "" : ", the nearest");
}

/* Reports workers on CPUs without local memory, and teams on isolated CPUs. */
static void check_cpus(const struct topo *topo, const struct plan *plan, struct findings *findings)
{
    struct lacking all = {{{0}}, {{0}}, {{0}}}, some = all;
    struct bitset isolated = {0};
    bool pinned = placement_infos[plan->placement].pinned;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct plan_worker *worker = &plan->workers[w];
        struct bitset of_isolated = worker->cpus;
        bitset_and(&of_isolated, &topo->isolated);
        if (pinned)
            add_lacking(topo, worker, w, &all, &some);
        if (worker->threads > 1 && bitset_count(&of_isolated) > 1)
            bitset_set(&isolated, w);
    }
    report_lacking(plan, "worker_no_memory", "", &all, findings);
    report_lacking(plan, "worker_some_no_memory", "some of ", &some, findings);
    report(findings, "worker_isolated", FINDING_DOUBT, "worker", &isolated,
           "threads on isolated CPUs stay on the CPU where they start, so that a team piles up on "
           "one: bind each thread (OMP_PROC_BIND=true)");
}

/* How many cores of each kind a worker has, and their mean kind. */
struct mix {
    unsigned cores[TOPO_KINDS_MAX];
    double mean;
};

static struct mix mix_of(const struct topo *topo, const struct bitset *cpus)
{
    struct mix mix = {{0}, 0};
    unsigned n = 0;
    int last = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (!bitset_test(cpus, cpu->os_cpu) || cpu->core == last)
            continue;
        last = cpu->core;
        mix.cores[cpu->kind]++;
        mix.mean += cpu->kind;
        n++;
    }
    mix.mean /= n ? n : 1;
    return mix;
}

/* One core more or less comes from rounding. */
static bool is_unlike(const struct topo *topo, const struct mix *a, const struct mix *b)
{
    for (unsigned kind = 0; kind < topo->nkinds; kind++) {
        unsigned of_a = a->cores[kind], of_b = b->cores[kind];
        if (!of_a != !of_b || of_a > of_b + 1 || of_b > of_a + 1)
            return true;
    }
    return false;
}

/* Foreground workers with slower cores than the best; `fast`: the others. */
static void find_slow(const struct topo *topo, const struct plan *plan, struct bitset *slow,
                      struct bitset *fast)
{
    struct mix best = {{0}, -1};
    *slow = *fast = (struct bitset){0};
    for (unsigned w = 0; w < plan->nworkers; w++) {
        struct mix mix = mix_of(topo, &plan->workers[w].cpus);
        if (!plan->workers[w].background && mix.mean > best.mean)
            best = mix;
    }
    for (unsigned w = 0; w < plan->nworkers; w++) {
        struct mix mix = mix_of(topo, &plan->workers[w].cpus);
        if (!plan->workers[w].background)
            bitset_set(is_unlike(topo, &mix, &best) ? slow : fast, w);
    }
}

static const char *advise_like_cores(const struct topo *topo, const struct plan *plan)
{
    struct plan spread;
    struct bitset slow, fast;
    const char *advice = advise_pcores(topo, plan);
    bool can = !advice[0] && make_other(topo, plan, PLACE_SPREAD, &spread);
    if (advice[0])
        return advice;
    if (can)
        find_slow(topo, &spread, &slow, &fast);
    plan_free(&spread);
    return can && bitset_empty(&slow) ? "; spread gives all workers the same mix" : "";
}

/* Users compare workers, and a job waits for its slowest. */
static void check_speeds(const struct topo *topo, const struct plan *plan,
                         struct findings *findings)
{
    struct bitset slow, fast;
    if (topo->nkinds < 2)
        return;
    find_slow(topo, plan, &slow, &fast);
    report(findings, "workers_unlike", FINDING_DOUBT, "worker", &slow,
           "slower cores than worker%s %s: equal work takes longer there%s",
           bitset_count(&fast) == 1 ? "" : "s", bitset_format(&fast),
           bitset_empty(&slow) ? "" : advise_like_cores(topo, plan));
}

void plan_check(const struct topo *topo, const struct plan *whole, struct findings *findings)
{
    struct plan requested = *whole;
    const struct plan *plan = &requested;
    requested.nworkers = plan_requested(whole);
    const struct placement_info *info = &placement_infos[plan->placement];
    if (!plan->nworkers || plan->workers[0].host[0])
        return;
    check_quota(plan, findings);
    check_teams(topo, plan, findings);
    check_speeds(topo, plan, findings);
    check_cpus(topo, plan, findings);
    if (info->pinned)
        check_spans(topo, plan, findings);
    if (info->pinned && plan->placement != PLACE_REMOTE)
        check_gpus(topo, plan, findings);
    if (info->pinned && info->disjoint) {
        check_cores(topo, plan, findings);
        check_left(topo, plan, findings);
    }
}

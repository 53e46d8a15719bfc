#include "harness/plan/placement/check.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lists are cut to what fits into one readable line. */
enum { SHORT_LIST = 64 };

static struct finding make_finding(const char *id, const struct bitset *workers)
{
    char list[SHORT_LIST];
    struct finding finding = {.severity = FINDING_NOTE};
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    (void)snprintf(finding.subject, sizeof(finding.subject), "worker%s %s",
                   bitset_count(workers) == 1 ? "" : "s",
                   bitset_format(workers, list, sizeof(list)));
    return finding;
}

/* The worker that has this CPU, or -1; slices are disjoint. */
static int owner_of(const struct plan *plan, unsigned os_cpu)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (bitset_test(&plan->workers[w].cpus, os_cpu))
            return (int)w;
    return -1;
}

/* True when this placement has a plan for as many workers with their GPUs on the same CPUs; `used`
 * gets the CPUs of its foreground workers, and may be NULL. */
static bool can_use(const struct topo *topo, const struct plan *plan, enum placement placement,
                    struct bitset *used)
{
    struct plan_request request = {.placement = placement, .cpus = plan->dealt};
    struct plan other;
    struct err err;
    int *gpus = calloc(plan->nworkers + 1, sizeof(*gpus));
    for (unsigned w = 0; gpus && w < plan->nworkers; w++) {
        *(plan->workers[w].background ? &request.background : &request.workers) += 1;
        gpus[w] = plan->workers[w].gpu;
    }
    request.gpus = gpus;
    bool can = gpus && !plan_make(topo, &request, &other, &err) && other.status == PLAN_OK;
    for (unsigned w = 0; can && used && w < request.workers; w++)
        bitset_or(used, &other.workers[w].cpus);
    if (gpus)
        plan_free(&other);
    free(gpus);
    return can;
}

static bool can_have(const struct topo *topo, const struct plan *plan, enum placement placement)
{
    return can_use(topo, plan, placement, NULL);
}

/* "; ..." where pcores would give all workers cores of one kind, and this is another placement. */
static const char *advise_pcores(const struct topo *topo, const struct plan *plan)
{
    struct bitset used = {0};
    return plan->placement != PLACE_PCORES && can_use(topo, plan, PLACE_PCORES, &used) &&
                   !topo_mixes_cores(topo, &used)
               ? "; pcores gives all workers the fastest cores"
               : "";
}

/* True when CPUs of the set have several values of the member, an int; -1 = unknown. */
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

/* What a slice may span, and what that costs. */
struct span {
    const char *id, *part, *cost;
};

static int tell_span(const struct topo *topo, const struct plan *plan, const struct span *span,
                     const struct bitset *over, struct findings *findings, struct err *err)
{
    if (bitset_empty(over))
        return 0;
    struct finding finding = make_finding(span->id, over);
    (void)snprintf(finding.sentence, sizeof(finding.sentence), "CPUs of more than one %s%s: %s%s",
                   span->part, bitset_count(over) == 1 ? "" : " each", span->cost,
                   can_have(topo, plan, PLACE_NUMA) ? "; numa keeps each worker inside one node"
                                                    : "");
    return findings_add(findings, &finding, err);
}

static int check_spans(const struct topo *topo, const struct plan *plan, struct findings *findings,
                       struct err *err)
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
        else if (plan->placement != PLACE_PACKAGE_LOCAL && /* promises that */
                 spans(topo, cpus, offsetof(struct topo_cpu, node)))
            bitset_set(&nodes, w);
    }
    int rc = tell_span(topo, plan, &over_packages, &packages, findings, err);
    return rc ? rc : tell_span(topo, plan, &over_nodes, &nodes, findings, err);
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

/* True when the worker's GPU is known to be near other CPUs than all of its own. Plans of earlier
 * runs may have GPUs that this topology does not tell of. */
static bool is_far(const struct topo *topo, const struct plan_worker *worker)
{
    bool told = worker->gpu >= 0 && worker->gpu < (int)topo->ngpus;
    int node = told ? topo->gpus[worker->gpu].node : -1;
    struct bitset own = nodes_of(topo, &worker->cpus);
    const struct bitset *near = node < 0 ? NULL : &topo->nodes[node].cpus;
    return near && !bitset_empty(near) && !bitset_intersects(near, &worker->cpus) &&
           !bitset_empty(&own);
}

static int tell_far(const struct topo *topo, const struct plan *plan, const struct bitset *far,
                    struct findings *findings, struct err *err)
{
    char list[SHORT_LIST], name[32], one[160];
    int first = bitset_next(far, 0);
    const struct plan_worker *worker = &plan->workers[first];
    const struct topo_gpu *gpu = &topo->gpus[worker->gpu];
    struct bitset own = nodes_of(topo, &worker->cpus);
    struct finding finding = make_finding("gpu_far", far);
    if (gpu->cuda_ordinal >= 0)
        (void)snprintf(name, sizeof(name), "%d", gpu->cuda_ordinal);
    else /* hidden from this program, not from the worker */
        (void)snprintf(name, sizeof(name), "%s", gpu->pci_bdf);
    (void)snprintf(one, sizeof(one), "GPU %s is near NUMA node %u, and its CPUs are on node%s %s",
                   name, topo->nodes[gpu->node].os_node, bitset_count(&own) == 1 ? "" : "s",
                   bitset_format(&own, list, sizeof(list)));
    bool alone = bitset_count(far) == 1;
    if (!alone)
        (void)snprintf(
            finding.sentence, sizeof(finding.sentence),
            "their GPUs are near other NUMA nodes than their CPUs (of worker %d: ", first);
    size_t used = strlen(finding.sentence);
    (void)snprintf(
        finding.sentence + used, sizeof(finding.sentence) - used, "%s%s%s", one, alone ? "" : ")",
        can_have(topo, plan, PLACE_GPU_LOCAL) ? "; gpu-local gives each worker CPUs near its GPU"
                                              : "");
    return findings_add(findings, &finding, err);
}

static int check_gpus(const struct topo *topo, const struct plan *plan, struct findings *findings,
                      struct err *err)
{
    struct bitset far = {0};
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (is_far(topo, &plan->workers[w]))
            bitset_set(&far, w);
    return bitset_empty(&far) ? 0 : tell_far(topo, plan, &far, findings, err);
}

/* Cores whose threads have several owners: how many, their CPUs, and the owners. */
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

static int check_cores(const struct topo *topo, const struct plan *plan, struct findings *findings,
                       struct err *err)
{
    char list[SHORT_LIST];
    struct divided divided = {0};
    unsigned cores = find_divided(topo, plan, &divided);
    if (!divided.ncores)
        return 0;
    struct finding finding = make_finding("cores_divided", &divided.workers);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "they share %u core%s (CPUs %s), and slow each other there%s", divided.ncores,
                   divided.ncores == 1 ? "" : "s", bitset_format(&divided.cpus, list, sizeof(list)),
                   cores >= plan->nworkers ? "; cores gives each worker cores of its own" : "");
    return findings_add(findings, &finding, err);
}

/* CPUs of cores of which no worker has one; what `cores` leaves of its own cores is meant. */
static int check_left(const struct topo *topo, const struct plan *plan, struct findings *findings,
                      struct err *err)
{
    char list[SHORT_LIST];
    struct bitset left = plan->dealt, used = {0}, core;
    for (unsigned w = 0; w < plan->nworkers; w++)
        bitset_or(&used, &plan->workers[w].cpus);
    for (unsigned at = 0; topo_next_core(topo, &at, &core);)
        if (bitset_intersects(&core, &used))
            bitset_andnot(&left, &core);
    if (bitset_empty(&left))
        return 0;
    struct bitset package = {0};
    bool packaged = plan->placement != PLACE_PCORES &&
                    can_use(topo, plan, PLACE_PACKAGE_LOCAL, &package) &&
                    bitset_intersects(&package, &left);
    const char *why =
        plan->placement == PLACE_PCORES ? "pcores leaves the slower cores to background workers"
        : plan->placement == PLACE_LLC  ? "their cores are outside of the last-level caches"
        : plan->placement == PLACE_PACKAGE_LOCAL ? "each is kept inside the package of a GPU"
                                                 : "each is kept inside one NUMA node";
    const char *advice =
        packaged ? "; package-local gives them to the workers whose GPUs are on that package"
        : plan->placement != PLACE_PCORES && can_have(topo, plan, PLACE_PARTITION)
            ? "; partition deals all"
            : "";
    struct finding finding = {.id = "cpus_left", .severity = FINDING_NOTE};
    (void)snprintf(finding.subject, sizeof(finding.subject), "CPU%s %s",
                   bitset_count(&left) == 1 ? "" : "s", bitset_format(&left, list, sizeof(list)));
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "%u of %u are in no worker's slice, as %s%s", bitset_count(&left),
                   bitset_count(&plan->dealt), why, advice);
    return findings_add(findings, &finding, err);
}

/* How many cores of this kind the slice has part of. */
static unsigned cores_of_kind(const struct topo *topo, const struct bitset *cpus, int kind)
{
    unsigned n = 0;
    int last = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (cpu->kind != kind || cpu->core == last || !bitset_test(cpus, cpu->os_cpu))
            continue;
        last = cpu->core;
        n++;
    }
    return n;
}

/* Of one kind: which foreground workers have the most cores of it, and the fewest. */
struct extremes {
    unsigned most, fewest, of_most, of_fewest;
};

static struct extremes find_extremes(const struct topo *topo, const struct plan *plan, int kind)
{
    struct extremes found = {.fewest = UINT_MAX};
    for (unsigned w = 0; w < plan->nworkers && !plan->workers[w].background; w++) {
        unsigned cores = cores_of_kind(topo, &plan->workers[w].cpus, kind);
        if (cores > found.most) {
            found.most = cores;
            found.of_most = w;
        }
        if (cores < found.fewest) {
            found.fewest = cores;
            found.of_fewest = w;
        }
    }
    return found;
}

/* How many kinds of cores the foreground workers have. */
static unsigned count_kinds(const struct topo *topo, const struct plan *plan)
{
    unsigned n = 0;
    for (int kind = 0; kind < (int)topo->nkinds; kind++)
        n += find_extremes(topo, plan, kind).most > 0;
    return n;
}

/* A core more is what cannot be dealt evenly, but for the only one. The most powerful kind that is
 * dealt otherwise speaks for all. */
static int check_kinds(const struct topo *topo, const struct plan *plan, struct findings *findings,
                       struct err *err)
{
    struct extremes found = {0};
    int kind = count_kinds(topo, plan) > 1 ? (int)topo->nkinds - 1 : -1;
    for (; kind >= 0; kind--) {
        found = find_extremes(topo, plan, kind);
        if (found.most > found.fewest + 1 || (found.most && !found.fewest))
            break;
    }
    if (kind < 0)
        return 0;
    struct bitset workers = {0};
    for (unsigned w = 0; w < plan->nworkers && !plan->workers[w].background; w++)
        bitset_set(&workers, w);
    struct finding finding = make_finding("core_kinds", &workers);
    char fewest[16] = "none";
    if (found.fewest)
        (void)snprintf(fewest, sizeof(fewest), "%u", found.fewest);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "their slices are not alike: of the %s cores worker %u has %u, and worker %u "
                   "%s%s",
                   topo_kind_name(topo, kind), found.of_most, found.most, found.of_fewest, fewest,
                   advise_pcores(topo, plan));
    return findings_add(findings, &finding, err);
}

/* Teams over unlike cores, pinned or not. */
static int check_teams(const struct topo *topo, const struct plan *plan, struct findings *findings,
                       struct err *err)
{
    struct bitset unlike = {0};
    for (unsigned w = 0; w < plan->nworkers && topo->nkinds > 1; w++)
        if (!plan->workers[w].background && plan->workers[w].threads > 1 &&
            topo_mixes_cores(topo, &plan->workers[w].cpus))
            bitset_set(&unlike, w);
    if (bitset_empty(&unlike))
        return 0;
    struct finding finding = make_finding("team_kinds", &unlike);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "a team's CPUs are of unlike cores: at each barrier the faster ones wait for "
                   "the slower ones%s",
                   advise_pcores(topo, plan));
    return findings_add(findings, &finding, err);
}

/* Threads beyond the quota are stopped together with all others. */
static int check_quota(const struct plan *plan, struct findings *findings, struct err *err)
{
    unsigned threads = 0, allowed = bitset_count(&plan->dealt);
    for (unsigned w = 0; w < plan->nworkers; w++)
        threads += plan->workers[w].threads;
    if (!(plan->cpu_quota > 0) || plan->cpu_quota >= allowed)
        return 0;
    struct finding finding = {.id = "cpu_quota", .severity = FINDING_NOTE, .subject = "CPU quota"};
    int used = snprintf(finding.sentence, sizeof(finding.sentence),
                        "the cgroup grants the time of %.3g CPU%s, and %u are allowed",
                        plan->cpu_quota, plan->cpu_quota == 1 ? "" : "s", allowed);
    char *rest = finding.sentence + used;
    size_t size = sizeof(finding.sentence) - (size_t)used;
    if (threads <= plan->cpu_quota) {
        (void)snprintf(rest, size, ": the plan has %u thread%s in all", threads,
                       threads == 1 ? "" : "s");
    } else {
        finding.severity = FINDING_DOUBT;
        (void)snprintf(rest, size,
                       ": the plan has %u thread%s in all, and the kernel stops the workers when "
                       "they have used up a period's time. Raise the quota%s",
                       threads, threads == 1 ? "" : "s",
                       threads > plan->nworkers ? ", or plan fewer threads (-P sized, --threads)"
                       : plan->nworkers > 1     ? ", or plan fewer workers (-n)"
                                                : "");
    }
    return findings_add(findings, &finding, err);
}

int plan_check(const struct topo *topo, const struct plan *plan, struct findings *findings,
               struct err *err)
{
    const struct placement_info *info = &placement_infos[plan->placement];
    if (!plan->nworkers || plan->workers[0].host[0])
        return 0;
    int rc = check_quota(plan, findings, err);
    if (!rc)
        rc = check_teams(topo, plan, findings, err);
    if (!rc)
        rc = plan_check_cpus(topo, plan, findings, err);
    if (rc || !info->pinned)
        return rc;
    rc = check_spans(topo, plan, findings, err);
    if (!rc && plan->placement != PLACE_REMOTE)
        rc = check_gpus(topo, plan, findings, err);
    if (!info->disjoint || rc)
        return rc;
    rc = check_cores(topo, plan, findings, err);
    if (!rc)
        rc = check_left(topo, plan, findings, err);
    return rc ? rc : check_kinds(topo, plan, findings, err);
}

#include "harness/plan/check.h"

#include <stdbool.h>
#include <stdio.h>

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

static bool spans_packages(const struct topo *topo, const struct bitset *cpus)
{
    int package = -1;
    for (unsigned i = 0; i < topo->ncpus; i++) {
        const struct topo_cpu *cpu = &topo->cpus[i];
        if (!bitset_test(cpus, cpu->os_cpu))
            continue;
        if (package >= 0 && cpu->package != package)
            return true;
        package = cpu->package;
    }
    return false;
}

static int check_packages(const struct topo *topo, const struct plan *plan,
                          struct findings *findings, struct err *err)
{
    struct bitset over = {0};
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (spans_packages(topo, &plan->workers[w].cpus))
            bitset_set(&over, w);
    if (bitset_empty(&over))
        return 0;
    struct finding finding = make_finding("worker_over_packages", &over);
    (void)snprintf(finding.sentence, sizeof(finding.sentence),
                   "CPUs of more than one package%s: what the threads of a worker share goes from "
                   "one to the other%s",
                   bitset_count(&over) == 1 ? "" : " each",
                   topo->nnodes > 1 ? "; numa keeps each worker inside one node" : "");
    return findings_add(findings, &finding, err);
}

/* The worker that has this CPU, or -1; slices are disjoint. */
static int owner_of(const struct plan *plan, unsigned os_cpu)
{
    for (unsigned w = 0; w < plan->nworkers; w++)
        if (bitset_test(&plan->workers[w].cpus, os_cpu))
            return (int)w;
    return -1;
}

/* Cores whose threads have several owners: how many, their CPUs, and the owners. */
struct divided {
    unsigned ncores;
    struct bitset cpus, workers;
};

/* CPUs of a core are neighbours in topo->cpus. Returns how many cores the plan has in all. */
static unsigned find_divided(const struct topo *topo, const struct plan *plan,
                             struct divided *divided)
{
    unsigned used = 0;
    for (unsigned i = 0; i < topo->ncpus;) {
        struct bitset cpus = {0}, workers = {0};
        for (int core = topo->cpus[i].core; i < topo->ncpus && topo->cpus[i].core == core; i++) {
            int owner = owner_of(plan, topo->cpus[i].os_cpu);
            if (owner < 0)
                continue;
            bitset_set(&cpus, topo->cpus[i].os_cpu);
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

int plan_check(const struct topo *topo, const struct plan *plan, struct findings *findings,
               struct err *err)
{
    const struct placement_info *info = &placement_infos[plan->placement];
    if (!info->pinned || !plan->nworkers || plan->workers[0].host[0])
        return 0;
    int rc = check_packages(topo, plan, findings, err);
    return rc || !info->disjoint ? rc : check_cores(topo, plan, findings, err);
}

/* Workers whose CPUs are there, and do not have what a worker expects of CPUs. */
#include <stdio.h>

#include "harness/machine/topo/topo_check.h"
#include "harness/plan/placement/check.h"

enum { SHORT_LIST = 64 };

static int tell(const char *id, const struct bitset *workers, const char *sentence,
                struct findings *findings, struct err *err)
{
    char list[SHORT_LIST];
    struct finding finding = {.severity = FINDING_DOUBT};
    if (bitset_empty(workers))
        return 0;
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    (void)snprintf(finding.subject, sizeof(finding.subject), "worker%s %s",
                   bitset_count(workers) == 1 ? "" : "s",
                   bitset_format(workers, list, sizeof(list)));
    (void)snprintf(finding.sentence, sizeof(finding.sentence), "%s", sentence);
    return findings_add(findings, &finding, err);
}

/* How many of the set's CPUs. */
static unsigned without_memory(const struct topo *topo, const struct bitset *cpus)
{
    unsigned n = 0;
    for (int cpu = bitset_next(cpus, 0); cpu >= 0; cpu = bitset_next(cpus, (unsigned)cpu + 1))
        n += topo_lacks_memory(topo, (unsigned)cpu);
    return n;
}

int plan_check_cpus(const struct topo *topo, const struct plan *plan, struct findings *findings,
                    struct err *err)
{
    struct bitset all = {0}, some = {0}, isolated = {0};
    bool pinned = placement_infos[plan->placement].pinned;
    for (unsigned w = 0; w < plan->nworkers; w++) {
        const struct plan_worker *worker = &plan->workers[w];
        unsigned without = pinned ? without_memory(topo, &worker->cpus) : 0;
        struct bitset of_isolated = worker->cpus;
        bitset_and(&of_isolated, &topo->isolated);
        if (without)
            bitset_set(without == bitset_count(&worker->cpus) ? &all : &some, w);
        if (worker->threads > 1 && bitset_count(&of_isolated) > 1)
            bitset_set(&isolated, w);
    }
    int rc = tell("worker_no_memory", &all,
                  "no memory that may be used is on the NUMA node of these CPUs: all of it is on "
                  "another node",
                  findings, err);
    if (!rc)
        rc = tell("worker_some_no_memory", &some,
                  "some of these CPUs are on a NUMA node without memory that may be used", findings,
                  err);
    return rc ? rc
              : tell("worker_isolated", &isolated,
                     "threads on isolated CPUs stay on the CPU where they start, so that a team "
                     "piles up on one: bind each thread (OMP_PROC_BIND=true)",
                     findings, err);
}

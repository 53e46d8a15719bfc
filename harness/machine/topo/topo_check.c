#include "harness/machine/topo/topo_check.h"

#include <stdio.h>

enum { SHORT_LIST = 64 };

/* Adds the finding with a subject such as "CPUs 2-3" or "NUMA node 1"; none for an empty set. */
static int report(const struct finding *said, const char *one, const struct bitset *set,
                  struct findings *findings, struct err *err)
{
    char list[SHORT_LIST];
    struct finding finding = *said;
    if (bitset_empty(set))
        return 0;
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s%s %s", one,
                   bitset_count(set) == 1 ? "" : "s", bitset_format(set, list, sizeof(list)));
    return findings_add(findings, &finding, err);
}

/* Reports `cpus`: the allowed ones by `in`, the rest by `out`. */
static int report_cpus(const struct finding *in, const struct finding *out,
                       const struct bitset *cpus, const struct bitset *allowed,
                       struct findings *findings, struct err *err)
{
    struct bitset used = *cpus, unused = *cpus;
    bitset_and(&used, allowed);
    bitset_andnot(&unused, allowed);
    int rc = report(in, "CPU", &used, findings, err);
    return rc ? rc : report(out, "CPU", &unused, findings, err);
}

/* The node of this CPU, with or without memory; -1 = unknown. */
static int own_node(const struct topo *topo, unsigned os_cpu)
{
    int own = -1;
    for (unsigned i = 0; i < topo->nnodes; i++)
        if (bitset_test(&topo->nodes[i].cpus, os_cpu) && (own < 0 || topo->nodes[i].allowed))
            own = (int)i;
    return own;
}

bool topo_lacks_memory(const struct topo *topo, unsigned os_cpu)
{
    int own = own_node(topo, os_cpu);
    return own >= 0 && !topo->nodes[own].allowed;
}

static int check_nodes(const struct topo *topo, const struct bitset *allowed,
                       struct findings *findings, struct err *err)
{
    struct bitset none = {0}, refused = {0};
    for (int cpu = bitset_next(allowed, 0); cpu >= 0; cpu = bitset_next(allowed, (unsigned)cpu + 1))
        if (topo_lacks_memory(topo, (unsigned)cpu)) {
            unsigned own = (unsigned)own_node(topo, (unsigned)cpu);
            bitset_set(topo_has_memory(topo, own) ? &refused : &none, topo->nodes[own].os_node);
        }
    static const struct finding no_memory = {.id = "node_no_memory",
                                             .severity = FINDING_DOUBT,
                                             .sentence =
                                                 "CPUs and no memory: all that a worker there uses "
                                                 "lies on another node; memory modules may "
                                                 "be missing"};
    static const struct finding not_allowed = {.id = "node_memory_refused",
                                               .severity = FINDING_DOUBT,
                                               .sentence =
                                                   "its CPUs are allowed and its memory is not "
                                                   "(cpuset.mems): all that a worker there uses "
                                                   "lies on another node"};
    int rc = report(&no_memory, "NUMA node", &none, findings, err);
    return rc ? rc : report(&not_allowed, "NUMA node", &refused, findings, err);
}

static int check_gpus(const struct topo *topo, struct findings *findings, struct err *err)
{
    struct finding finding = {.id = "other_gpus", .subject = "GPUs", .severity = FINDING_NOTE};
    (void)other_gpus_format(&topo->other_gpus, finding.sentence, sizeof(finding.sentence));
    return finding.sentence[0] ? findings_add(findings, &finding, err) : 0;
}

int topo_check(const struct topo *topo, struct findings *findings, struct err *err)
{
    static const struct finding hidden = {.id = "cpus_hidden",
                                          .severity = FINDING_NOTE,
                                          .sentence = "the system's list of online CPUs lacks what "
                                                      "the affinity mask has, as under lxcfs; the "
                                                      "mask counts"};
    static const struct finding unknown = {
        .id = "cpus_unknown",
        .severity = FINDING_DOUBT,
        .sentence = "the affinity mask has what the system does not describe; no plan uses it"};
    static const struct finding isolated = {
        .id = "cpus_isolated",
        .severity = FINDING_DOUBT,
        .sentence = "isolated (isolcpus) and allowed: the scheduler moves no thread to or from "
                    "them; use them only with each thread bound to one CPU, or leave them out "
                    "(--cpus)"};
    static const struct finding isolated_out = {
        .id = "cpus_isolated_out",
        .severity = FINDING_NOTE,
        .sentence =
            "isolated (isolcpus) and not in this process's affinity mask: no worker gets them"};
    struct bitset allowed = {0};
    topo_allowed_cpus(topo, &allowed);
    int rc = report_cpus(&hidden, &unknown, &topo->hidden, &allowed, findings, err);
    if (!rc)
        rc = report_cpus(&isolated, &isolated_out, &topo->isolated, &allowed, findings, err);
    if (!rc)
        rc = check_nodes(topo, &allowed, findings, err);
    return rc ? rc : check_gpus(topo, findings, err);
}

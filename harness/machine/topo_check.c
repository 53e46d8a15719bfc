#include "harness/machine/topo_check.h"

#include "harness/lib/text.h"

/* Adds the finding with a subject such as "CPUs 2-3" or "NUMA node 1"; none for an empty set. */
static void report(const struct finding *said, const char *one, const struct bitset *set,
                   struct findings *findings)
{
    struct finding finding = *said;
    text_set(finding.subject, "%s%s %s", one, bitset_count(set) == 1 ? "" : "s",
             bitset_format(set));
    if (!bitset_empty(set))
        findings_put(findings, &finding);
}

/* Reports `cpus`: the allowed ones by `in`, the rest by `out`. */
static void report_cpus(const struct finding *in, const struct finding *out,
                        const struct bitset *cpus, const struct bitset *allowed,
                        struct findings *findings)
{
    struct bitset used = *cpus, unused = *cpus;
    bitset_and(&used, allowed);
    bitset_andnot(&unused, allowed);
    report(in, "CPU", &used, findings);
    report(out, "CPU", &unused, findings);
}

bool topo_lacks_memory(const struct topo *topo, const struct topo_cpu *cpu)
{
    int own = topo_own_node(topo, cpu);
    return own >= 0 && !topo->nodes[own].allowed;
}

/* "node 0": where CPUs of these nodes have their memory. */
static const char *name_memory(const struct topo *topo, const struct bitset *nodes)
{
    struct bitset memory = {0};
    for (int os_node = bitset_next(nodes, 0); os_node >= 0;
         os_node = bitset_next(nodes, (unsigned)os_node + 1)) {
        int node = topo_memory_node(topo, topo_node_index(topo, (unsigned)os_node));
        if (node >= 0)
            bitset_set(&memory, topo->nodes[node].os_node);
    }
    return str_fmt("node%s %s", bitset_count(&memory) == 1 ? "" : "s", bitset_format(&memory));
}

static void report_nodes(const struct topo *topo, const char *id, const char *lack,
                         const struct bitset *nodes, struct findings *findings)
{
    struct finding finding = {.severity = FINDING_DOUBT};
    text_set(finding.id, "%s", id);
    text_set(finding.sentence, "%s: a worker there uses the memory of %s, the nearest", lack,
             name_memory(topo, nodes));
    report(&finding, "NUMA node", nodes, findings);
}

static void check_nodes(const struct topo *topo, struct findings *findings)
{
    struct bitset none = {0}, unlisted = {0}, refused = {0};
    for (unsigned i = 0; i < topo->ncpus; i++) {
        int own = topo_own_node(topo, &topo->cpus[i]);
        if (!topo->cpus[i].allowed || !topo_lacks_memory(topo, &topo->cpus[i]))
            continue;
        bitset_set(topo->nodes[own].unlisted              ? &unlisted
                   : topo_has_memory(topo, (unsigned)own) ? &refused
                                                          : &none,
                   topo->nodes[own].os_node);
    }
    report_nodes(topo, "node_no_memory", "CPUs without memory", &none, findings);
    report_nodes(topo, "node_no_memory", "CPUs without memory, or with none that was allowed",
                 &unlisted, findings);
    report_nodes(topo, "node_memory_refused",
                 "its CPUs are allowed and its memory is not (cpuset.mems)", &refused, findings);
}

void topo_check(const struct topo *topo, struct findings *findings)
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
    struct finding gpus = {.id = "other_gpus", .subject = "GPUs", .severity = FINDING_NOTE};
    report_cpus(&hidden, &unknown, &topo->hidden, &allowed, findings);
    report_cpus(&isolated, &isolated_out, &topo->isolated, &allowed, findings);
    check_nodes(topo, findings);
    (void)other_gpus_format(&topo->other_gpus, gpus.sentence, sizeof(gpus.sentence));
    if (gpus.sentence[0])
        findings_put(findings, &gpus);
}

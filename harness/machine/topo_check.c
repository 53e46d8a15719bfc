#include "harness/machine/topo_check.h"

#include <stdio.h>
#include <string.h>

enum { SHORT_LIST = 64 };

/* Appends the finding with "CPUs 2-3" or "NUMA node 1" as its subject; nothing of an empty set. */
static int tell(const char *id, enum finding_severity severity, const char *one,
                const struct bitset *set, const char *sentence, struct findings *findings,
                struct err *err)
{
    char list[SHORT_LIST];
    struct finding finding = {.severity = severity};
    if (bitset_empty(set))
        return 0;
    (void)snprintf(finding.id, sizeof(finding.id), "%s", id);
    (void)snprintf(finding.subject, sizeof(finding.subject), "%s%s %s", one,
                   bitset_count(set) == 1 ? "" : "s", bitset_format(set, list, sizeof(list)));
    (void)snprintf(finding.sentence, sizeof(finding.sentence), "%s", sentence);
    return findings_add(findings, &finding, err);
}

static int check_hidden(const struct topo *topo, const struct bitset *allowed,
                        struct findings *findings, struct err *err)
{
    struct bitset known = topo->hidden, unknown = topo->hidden;
    bitset_and(&known, allowed);
    bitset_andnot(&unknown, allowed);
    int rc = tell("cpus_hidden", FINDING_NOTE, "CPU", &known,
                  "the system's list of online CPUs lacks what the affinity mask has, as under "
                  "lxcfs; the mask counts",
                  findings, err);
    return rc ? rc
              : tell("cpus_unknown", FINDING_DOUBT, "CPU", &unknown,
                     "the affinity mask has what the system does not describe; no plan uses it",
                     findings, err);
}

static int check_isolated(const struct topo *topo, const struct bitset *allowed,
                          struct findings *findings, struct err *err)
{
    struct bitset in = topo->isolated, out = topo->isolated;
    bitset_and(&in, allowed);
    bitset_andnot(&out, allowed);
    int rc = tell("cpus_isolated", FINDING_DOUBT, "CPU", &in,
                  "isolated (isolcpus) and allowed: the scheduler moves no thread to or from them; "
                  "use them only with each thread bound to one CPU, or leave them out (--cpus)",
                  findings, err);
    return rc ? rc
              : tell("cpus_isolated_out", FINDING_NOTE, "CPU", &out,
                     "isolated (isolcpus) and not in this process's affinity mask: no worker gets "
                     "them",
                     findings, err);
}

/* The node that has this CPU, with memory or without; -1 = unknown. */
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
    int rc = tell("node_no_memory", FINDING_DOUBT, "NUMA node", &none,
                  "CPUs and no memory: all that a worker there uses lies on another node; memory "
                  "modules may be missing",
                  findings, err);
    return rc ? rc
              : tell("node_memory_refused", FINDING_DOUBT, "NUMA node", &refused,
                     "its CPUs are allowed and its memory is not (cpuset.mems): all that a worker "
                     "there uses lies on another node",
                     findings, err);
}

static int check_gpus(const struct topo *topo, struct findings *findings, struct err *err)
{
    struct finding finding = {.id = "other_gpus", .subject = "GPUs", .severity = FINDING_NOTE};
    (void)other_gpus_format(&topo->other_gpus, finding.sentence, sizeof(finding.sentence));
    return finding.sentence[0] ? findings_add(findings, &finding, err) : 0;
}

int topo_check(const struct topo *topo, struct findings *findings, struct err *err)
{
    static int (*const checks[])(const struct topo *, const struct bitset *, struct findings *,
                                 struct err *) = {check_hidden, check_isolated, check_nodes};
    struct bitset allowed = {0};
    int rc = 0;
    topo_allowed_cpus(topo, &allowed);
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]) && !rc; i++)
        rc = checks[i](topo, &allowed, findings, err);
    return rc ? rc : check_gpus(topo, findings, err);
}

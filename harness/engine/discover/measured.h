/*
 * The topology that measurements show, beside the one that the system reports.
 *
 * From scans of core_to_core and smt_pairs over the same CPUs, repeated: which CPUs share a core,
 * which cores are near each other, and whether that stays so. Pure.
 *
 *   measured_scan_init(&scans[round], &topo, &err);                            // each
 *   measured_scan_put(&scans[round], "pair_latency", 0, 1, 71.0, &err);        // every value
 *   struct measured_input input = {.reported = &topo, .scans = scans, .nscans = 3};
 *   measured_find(&input, &measured, &err);
 *   for (i < measured.findings.n) print(measured.findings.all[i].sentence);
 *   measured_apply(&measured, &topo, &err);                     // then plan on it
 *
 * **SMT siblings**, in one scan: two CPUs that slow each other to more than 1.25 times the time,
 * unless their latency is not below 0.8 of the machine's median; or whose latency is below half
 * of it while at most 3 others are as near to either, and which slow each other to more than 1.10
 * where that is known. With two CPUs there is no median, and slowing alone counts.
 * *Stable*: so in every scan, and each CPU of the core with each. *Floating*: in some scans, or
 * with partners that are none of each other's: the hypervisor moves virtual CPUs, and no plan can
 * rest on it. *Unconfirmed*: there was one scan.
 *
 * **Clusters** (sockets, dies, cache domains): single linkage over the cores, by the least latency
 * of the scans. The edges of the minimum spanning tree, sorted, jump by 1.3 times or more where one
 * level ends; a level holds if at least two of its clusters have two cores, lone cores are at most
 * one in ten (they go where they are nearest), and the median latency across is 1.3 times that
 * within. The lowest level is taken for cache domains, the highest for packages. Clusters have to
 * be the same in each scan, or they float too; also where every scan shows some, but none remain of
 * all together.
 *
 * Source: F. Murtagh & P. Contreras, "Algorithms for hierarchical clustering", WIREs Data Mining 2
 * (2012), for linkage by the spanning tree. The factors are ours, chosen for a VM (METHOD.md) whose
 * hidden siblings answered in 0.31 to 0.39 of the median.
 */
#ifndef CONTEND_ENGINE_DISCOVER_MEASURED_H
#define CONTEND_ENGINE_DISCOVER_MEASURED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/finding.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"

/*
 * One scan of all pairs of a topology's CPUs: [n][n] by their places in it, symmetrical; NaN = not
 * measured. Zeroed, it can be freed.
 */
struct measured_scan {
    unsigned n;
    int *place; /* by os_cpu; -1 = none */
    double *latency_ns, *slowdown;
};

/* -ENOMEM. Free it with measured_scan_free, also after an error. */
int measured_scan_init(struct measured_scan *scan, const struct topo *topo, struct err *err);

/*
 * Takes a value that core_to_core or smt_pairs emitted of two CPUs ("pair_latency",
 * "pair_slowdown"). Other metrics are passed over. -EINVAL: a CPU that the topology lacks.
 */
int measured_scan_put(struct measured_scan *scan, const char *metric, unsigned cpu_a,
                      unsigned cpu_b, double value, struct err *err);
void measured_scan_free(struct measured_scan *scan);

struct measured_input {
    const struct topo *reported;
    const struct measured_scan *scans; /* of it; two or more tell stable from floating */
    unsigned nscans;
};

/* Subject of the findings that are not about a pair of CPUs. */
#define MEASURED_MACHINE "this machine"

struct measured_cpu {
    unsigned os_cpu;
    int core;         /* as in topo_cpu; CPUs that float have a core each */
    int llc, package; /* cluster of the lowest and the highest level, 0 without clusters */
};

struct measured {
    unsigned ncpus, ncores;
    unsigned nllcs, npackages; /* 1: the measurement shows no clusters, and says nothing of them */
    unsigned sibling_pairs;    /* stable or unconfirmed */
    unsigned floating_pairs;
    bool floating;             /* siblings or clusters float: do not plan on this */
    double median_ns;          /* of the latencies of all pairs; NaN where there is no such thing */
    struct measured_cpu *cpus; /* in the order of `reported` */
    struct findings findings;  /* bad ones and doubts first */
};

/*
 * Fills *measured; free it with measured_free, also after an error. -EINVAL: no scan, or no pair
 * that was measured; -ENOMEM.
 *
 * Findings: FINDING_BAD disagrees with what the system reports, FINDING_DOUBT floats, FINDING_NOTE
 * is as reported, or all that there is to say. Ids: smt_siblings and smt_not_siblings, of a subject
 * "CPUs 2 and 34" that the sentence goes on from; cpu_clusters and measured_nothing,
 * of MEASURED_MACHINE. The evidence says whether it is stable, floating or unconfirmed.
 */
int measured_find(const struct measured_input *input, struct measured *measured, struct err *err);
void measured_free(struct measured *measured);

/*
 * Rewrites core, smt, llc and package of the topology's CPUs, and their order and counts, as far as
 * the measurement tells: cores always, caches and packages where it shows clusters that do not
 * float. CPUs that were not measured stay as reported. -ENOMEM.
 */
int measured_apply(const struct measured *measured, struct topo *topo, struct err *err);

#endif

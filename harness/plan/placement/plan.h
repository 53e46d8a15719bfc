/*
 * Placements: pure functions from (topology, request) to one CPU set, memory policy, thread count
 * and GPU per worker. No I/O, no clock, no randomness: the same input gives the same plan.
 */
#ifndef CONTEND_PLAN_PLACEMENT_PLAN_H
#define CONTEND_PLAN_PLACEMENT_PLAN_H

#include <limits.h>
#include <stdbool.h>

#include "harness/contract/dose.h"
#include "harness/lib/base/bitset.h"
#include "harness/lib/base/err.h"
#include "harness/machine/topo/topo.h"

enum placement {
    PLACE_NONE,
    PLACE_SIZED,
    PLACE_PASSIVE,
    PLACE_SAME,
    PLACE_PARTITION,
    PLACE_SPREAD,
    PLACE_CORES,
    PLACE_LLC,
    PLACE_NUMA,
    PLACE_GPU_LOCAL,
    PLACE_PACKAGE_LOCAL,
    PLACE_REMOTE,
    PLACE_PCORES,
    PLACEMENTS
};

struct placement_info {
    const char *name;    /* "gpu-local" */
    const char *summary; /* one line for `contend info` and the README */
    bool disjoint;       /* slices never overlap */
    bool pinned;         /* workers are bound to their CPU set; otherwise only to the allowed set */
    unsigned
        effort; /* what it asks of who applies it: 1 a variable, 2 a number of threads, 4 a
                   list of CPUs, 5 that the cores are known, 6 the nodes too; 0 = nobody
                   should. verdict/advice/recommend.h has the order of what is changed beside it */
};

/* Indexed by enum placement. */
extern const struct placement_info placement_infos[PLACEMENTS];

/* -EINVAL with the list of names. */
int placement_parse(const char *name, enum placement *placement, struct err *err);

/* "none,partition" in the given order, without repeats. Returns how many, or a negative errno. */
int placement_parse_list(const char *text, enum placement out[PLACEMENTS], struct err *err);

enum mem_policy { MEM_DEFAULT, MEM_BIND, MEM_PREFERRED, MEM_INTERLEAVE };
const char *mem_policy_name(enum mem_policy policy);

struct plan_worker {
    struct bitset cpus;      /* os_cpu it is bound to; never empty */
    struct bitset mem_nodes; /* os_node; empty with MEM_DEFAULT */
    enum mem_policy mem_policy;
    unsigned threads; /* >= 1 */
    int gpu;          /* index in topo.gpus, -1 = none */
    bool passive;     /* its threads wait asleep: OMP_WAIT_POLICY=passive, whatever is set */
    bool background;
    char host[64];             /* of a rank of a job, see ranks/job/plans.h; "" = here */
    char pci_bdf[PCI_BDF_MAX]; /* of its GPU, which topo does not list; "" = topo does */
};

enum plan_status { PLAN_OK, PLAN_SKIPPED };

struct plan {
    enum placement placement;
    enum plan_status status;
    char reason[200];  /* why it was skipped; "" when ok */
    unsigned nworkers; /* foreground first, then background; 0 when skipped */
    struct plan_worker *workers;
    bool has_dose;       /* its last worker gives the others a dose: see plan_add_dose */
    double cpu_quota;    /* that of the request */
    struct bitset dealt; /* os_cpu that were there to be dealt: allowed, and not left to others or
                            to nobody by the request; empty in plans that were read */
};

/* cores_each: whole cores, all of the slice. */
#define PLAN_CORES_ALL UINT_MAX

struct plan_request {
    enum placement placement;
    unsigned workers;       /* foreground, 1..8192 */
    unsigned background;    /* further workers that only make load */
    unsigned reserve_cores; /* physical cores left to the system: the first allowed ones */
    unsigned threads;       /* team size of every foreground worker; 0 = the placement decides */
    unsigned cores_each;    /* of its slice a foreground worker keeps the first so many cores, with
                               all their CPUs in it, and partition deals whole cores; 0 = all.
                               Unpinned placements are skipped */
    bool passive;           /* all foreground workers wait asleep, as in PLACE_PASSIVE */
    bool has_mem_policy;    /* mem_policy overrides the placement's own */
    enum mem_policy mem_policy;
    double cpu_quota; /* CPUs whose time the cgroup grants, 0 = no quota: teams are no larger than a
                         worker's share of it, but for none, passive and same, which ignore
                         it */
    struct bitset cpus; /* plan only on these os_cpu; empty = all allowed */
    const int *gpus;    /* whose GPU each foreground worker has, in topo.gpus, -1 = none; NULL = as
                           plan_make says */
};

/* How many workers a plan is for when nobody says: one a GPU that CUDA sees, at least two. */
unsigned plan_default_workers(const struct topo *topo);

/*
 * Each foreground worker has a GPU that CUDA sees, in order and in turn where there are fewer of
 * these. Where there are more, those taken are spread over the nodes that have memory and CPUs to
 * deal: two workers on two nodes with four GPUs each have GPUs 0 and 4. (`remote` chooses its own.)
 *
 * Fills *plan; free it with plan_free, also after an error. Returns 0 with status ok, or 0 with
 * status skipped when the machine cannot express the placement. Errors: -ENOSPC, more workers than
 * disjoint slices, slices without memory for the policy, or of fewer cores than cores_each;
 * -EINVAL, CPUs outside the allowed set, nothing left after the reserve.
 *
 * Sizes of disjoint slices differ by at most one unit of the placement: a CPU for partition, a core
 * for spread, cores and pcores, a last-level cache for llc, and for the placements by node a core
 * among the workers of one node. With more workers than caches, llc shares as those do.
 */
int plan_make(const struct topo *topo, const struct plan_request *request, struct plan *plan,
              struct err *err);

/* As plan_make, but what -ENOSPC refuses is a skipped plan, with what it would have said. */
int plan_make_or_skip(const struct topo *topo, const struct plan_request *request,
                      struct plan *plan, struct err *err);
void plan_free(struct plan *plan);

/*
 * Appends the worker that gives the others a dose: of a share of time on all of their CPUs, else on
 * the allowed ones that were not there to be dealt. -EINVAL: these are too few.
 */
int plan_add_dose(const struct topo *topo, enum dose_kind kind, struct plan *plan, struct err *err);

/* Workers of the request: all but the one that gives a dose, which no rule about plans counts. */
unsigned plan_requested(const struct plan *plan);

/* True when two workers of the request share a CPU. */
bool plan_overlaps(const struct plan *plan);

/* True when those that share CPUs have more threads than these. */
bool plan_crowds(const struct plan *plan);

#endif

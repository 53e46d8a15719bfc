/*
 * Placements: pure functions from (topology, request) to one CPU set, memory policy, thread count
 * and GPU per worker. No I/O, no clock, no randomness: the same input gives the same plan.
 */
#ifndef CONTEND_PLAN_PLAN_H
#define CONTEND_PLAN_PLAN_H

#include <limits.h>
#include <stdbool.h>

#include "harness/lib/bitset.h"
#include "harness/lib/dose.h"
#include "harness/lib/err.h"
#include "harness/machine/topo.h"

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
    bool pinned;         /* each worker is bound to its CPU set; else only to the allowed set */
    unsigned effort;     /* what the user must set or know: 1 a variable, 2 a number of threads, 4 a
                            list of CPUs, 5 the cores, 6 the nodes too; 0 = never recommended.
                            recommend_effort in verdict/recommend.h adds further changes */
};

/* Indexed by enum placement. */
extern const struct placement_info placement_infos[PLACEMENTS];

/* -EINVAL: an unknown name; the message lists the known ones. */
int placement_parse(const char *name, enum placement *placement, struct err *err);

/* Parses "none,partition"; keeps the order, drops repeats. Returns how many, or -EINVAL. */
int placement_parse_list(const char *text, enum placement out[PLACEMENTS], struct err *err);

enum mem_policy { MEM_DEFAULT, MEM_BIND, MEM_PREFERRED, MEM_INTERLEAVE };
const char *mem_policy_name(enum mem_policy policy);

struct plan_worker {
    struct bitset cpus;      /* os_cpu it is bound to; never empty */
    struct bitset mem_nodes; /* os_node; empty with MEM_DEFAULT */
    enum mem_policy mem_policy;
    unsigned threads; /* >= 1 */
    int gpu;          /* index in topo.gpus, -1 = none */
    bool passive;     /* its threads wait asleep: OMP_WAIT_POLICY=passive, overriding the user's */
    bool background;
    char host[64];             /* host of a rank, see engine/job_plans.h; "" = this host */
    char pci_bdf[PCI_BDF_MAX]; /* PCI address of a GPU that topo does not list; else "" */
};

enum plan_status { PLAN_OK, PLAN_SKIPPED };

struct plan {
    enum placement placement;
    enum plan_status status;
    char reason[200];  /* why it was skipped; "" when ok */
    unsigned nworkers; /* foreground first, then background; 0 when skipped */
    struct plan_worker *workers;
    bool has_dose;    /* the last worker applies a dose to the others: see plan_add_dose */
    double cpu_quota; /* from the request */
    unsigned threads; /* from the request: 0 = the placement decided; 0 in plans from a file */
    /* os_cpu to distribute among the workers: allowed, and not excluded by the request (cpus,
     * reserve, cores_each); empty in plans read from a file */
    struct bitset available;
};

/* Value of cores_each: assign whole cores, and keep all cores of the slice. */
#define PLAN_CORES_ALL UINT_MAX

struct plan_request {
    enum placement placement;
    unsigned workers;       /* foreground, 1..8192 */
    unsigned background;    /* further workers that only generate load */
    unsigned reserve_cores; /* physical cores left to the system: the first allowed cores */
    unsigned threads;       /* team size of every foreground worker; 0 = the placement decides */
    unsigned cores_each; /* a foreground worker keeps only this many cores, the first of its slice
                            (all their CPUs in the slice), and partition assigns whole cores;
                            0 = all. Unpinned placements are skipped */
    bool passive;        /* all foreground workers wait asleep, as in PLACE_PASSIVE */
    bool has_mem_policy; /* mem_policy overrides the placement's own */
    enum mem_policy mem_policy;
    double cpu_quota;   /* CPU time that the cgroup grants, in CPUs; 0 = no quota. No team that the
                           planner sizes exceeds a worker's share of the quota, except with none,
                           passive and same, which ignore the quota */
    struct bitset cpus; /* plan only on these os_cpu; empty = all allowed */
    const unsigned *cores; /* partition: so many whole cores for each worker; NULL = equally */
    const int *gpus; /* GPU of each foreground worker, an index in topo.gpus, -1 = none; NULL =
                        plan_make chooses */
};

/* The default number of workers: one for each GPU that CUDA sees, at least two. */
unsigned plan_default_workers(const struct topo *topo);

/*
 * Without request->gpus, foreground workers get the GPUs that CUDA sees in order; with fewer GPUs
 * than workers, GPUs repeat. With more GPUs, the chosen GPUs are spread over the nodes that have
 * memory and usable CPUs: two workers on two nodes with four GPUs each get GPUs 0 and 4. `remote`
 * chooses its own GPUs.
 *
 * Fills *plan; free it with plan_free, also after an error. Returns 0 with status ok, or 0 with
 * status skipped when the machine cannot express the placement. Errors: -ENOSPC: more workers than
 * disjoint slices, slices without memory for the policy, or with fewer cores than cores_each;
 * -EINVAL: CPUs outside the allowed set, nothing left after the reserve; -ENOMEM.
 *
 * Sizes of disjoint slices differ by at most one unit of the placement: a CPU for partition, a core
 * for spread, cores and pcores, a last-level cache for llc, and for the placements by node a core
 * among the workers of one node. With more workers than caches, llc splits each cache's cores.
 */
int plan_make(const struct topo *topo, const struct plan_request *request, struct plan *plan,
              struct err *err);

/* Like plan_make, but -ENOSPC becomes a skipped plan whose reason is the error's message. */
int plan_make_or_skip(const struct topo *topo, const struct plan_request *request,
                      struct plan *plan, struct err *err);
/* Makes it a skipped one, once its reason is written. */
void plan_skip(struct plan *plan);
void plan_free(struct plan *plan);

/*
 * Sets apart cores for programs that load the workers: the last `cores` of those that the request
 * may use. 0: one core in eight, at least one; none, and *apart is all CPUs, unless each worker,
 * also of the background, keeps a core. Takes them from request->cpus. -EINVAL: no core is left.
 */
int plan_set_apart(const struct topo *topo, unsigned cores, struct plan_request *request,
                   struct bitset *apart, struct err *err);

/*
 * Appends the worker that applies a dose of contention to the others. A dose that is a share of
 * time (dose_is_share) runs on all of their CPUs, any other dose on the allowed CPUs outside
 * plan->available. -EINVAL: fewer than two such CPUs.
 */
int plan_add_dose(const struct topo *topo, enum dose_kind kind, struct plan *plan, struct err *err);

/* How many workers were requested: all but the worker of a dose, which rules about plans ignore. */
unsigned plan_requested(const struct plan *plan);

/* True when two requested workers share a CPU. */
bool plan_overlaps(const struct plan *plan);

/* True when requested workers that share CPUs have more threads in total than CPUs. */
bool plan_is_oversubscribed(const struct plan *plan);

#endif

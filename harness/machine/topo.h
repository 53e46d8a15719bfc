/*
 * The machine as plain arrays: CPUs, cores, caches, nodes, GPUs and their distances.
 *
 * hwloc reads it once from this machine, from another machine's XML, or from hwloc's synthetic
 * notation ("package:2 core:4 pu:2"); no hwloc type leaves topo_load.c. Kinds of index are never
 * mixed: os_* numbers are the kernel's; the plain ones (core, package, llc, node) index arrays
 * here.
 */
#ifndef CONTEND_MACHINE_TOPO_H
#define CONTEND_MACHINE_TOPO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/lib/bitset.h"
#include "harness/lib/err.h"
#include "harness/lib/pci.h"

/*
 * GPUs and accelerators on the PCI bus that contend cannot measure: all except NVIDIA's. Pure.
 *
 *   struct other_gpus others = {0};
 *   other_gpus_count(&others, vendor, class_code);  ... for each PCI device
 *   other_gpus_format(&others, buf, sizeof(buf));
 */
enum { OTHER_GPU_VENDORS = 3 };

/* Zeroed = none. */
struct other_gpus {
    unsigned of[OTHER_GPU_VENDORS]; /* in the order of the vendors in topo.c */
};

/* class_code: base class and subclass, such as 0x0302. Counts the device if it is one of these. */
void other_gpus_count(struct other_gpus *others, unsigned vendor, unsigned class_code);

/* "2 AMD GPUs are there; contend measures NVIDIA's"; "" if there are none. Returns buf. */
char *other_gpus_format(const struct other_gpus *others, char *buf, size_t size);

/* One logical CPU (hwloc's PU). Sorted in hwloc's logical order: neighbours share caches. */
struct topo_cpu {
    unsigned os_cpu;
    int core; /* index of its physical core, 0..cores-1 */
    int smt;  /* rank among its core's CPUs, 0 = first */
    int llc;  /* index of its last-level cache, 0..llcs-1; without reported caches, one per package.
                 If its last cache is of a lower level than other CPUs': llcs or more */
    int package;  /* 0..packages-1 */
    int node;     /* index in nodes[] of the nearest node with memory, -1 = unknown */
    int kind;     /* 0 = least powerful kind of core; all 0 on a machine of one kind */
    bool allowed; /* by cgroup, cpuset and the affinity of this process; see for_others */
};

struct topo_node {
    unsigned os_node;
    uint64_t memory_bytes; /* local memory; 0 when unknown */
    uint64_t node_bytes;   /* size by the kernel, if it differs from the machine's memory; else 0 */
    bool allowed;          /* we may allocate memory on it */
    bool unlisted;         /* the source lists its CPUs only: no memory, or none allowed there */
    struct bitset cpus;    /* os_cpu of local CPUs; empty for a memory-only node */
    int package;           /* of its first CPU; -1 = no CPUs */
    char kind[16];         /* "" = ordinary memory, else "HBM", "NVM", ... */
};

/* Caches of equal level, size and CPU count; a hybrid machine has several kinds on a level. */
struct topo_cache {
    int level;           /* 1 = L1d; data or unified caches only */
    uint64_t size_bytes; /* of one cache; 0 when unknown */
    unsigned count;      /* number in the machine */
    unsigned cpus;       /* logical CPUs that share one */
};

/* The source of a GPU's NUMA node. */
enum topo_source { TOPO_UNKNOWN, TOPO_SYSFS, TOPO_NVML, TOPO_HWLOC, TOPO_OPTION };

struct gpu_health;

struct topo_gpu {
    char pci_bdf[PCI_BDF_MAX]; /* "0000:00:06.0", lower case */
    char name[64];             /* "" when unknown */
    char uuid[64];             /* "" when unknown */
    char vbios[32];            /* version of its firmware; "" when unknown */
    int cuda_ordinal;          /* under CUDA_VISIBLE_DEVICES; -1 = CUDA does not see it */
    int node;                  /* index in nodes[], -1 = unknown */
    enum topo_source source;   /* of `node` */
    struct bitset cpus;        /* os_cpu near it; empty when unknown */
    char note[160];            /* contradictions and gaps, in plain words; "" = none */
    struct gpu_health *health; /* owned; NULL = unknown (machine/gpu_health.h) */
};

struct topo {
    char origin[128];   /* "this machine", "xml FILE" or "synthetic ..." */
    char cpu_model[96]; /* "" when unknown */
    bool is_this_machine;
    bool hypervisor; /* virtual machine: what it reports may not be the real hardware */
    unsigned ncpus, ncores, nllcs, npackages, nnodes, nkinds, ncaches, ngpus;
    struct topo_cpu *cpus;
    struct topo_node *nodes; /* sorted by os_node */
    struct topo_gpu *gpus;   /* in CUDA's order, then those that CUDA does not see */
    struct topo_cache caches[8];
    unsigned *distances;  /* nnodes x nnodes, row = from; NULL when the machine has none */
    unsigned llc_level;   /* 0 when no shared cache is reported */
    char gpu_note[200];   /* why no GPU was found, or what drivers withhold; "" = nothing */
    int cuda_driver;      /* the newest CUDA that the driver supports: 12040 is 12.4; 0 = unknown */
    struct bitset hidden; /* os_cpu in our affinity mask, not in the online list; the mask counts */
    struct bitset isolated;       /* os_cpu that the scheduler leaves alone (isolcpus) */
    struct other_gpus other_gpus; /* of other vendors */
    bool driver_too_old;          /* for our CUDA runtime; gpu_note has both versions */
};

struct topo_options {
    const char *xml;       /* FILE or a synthetic description; NULL = this machine */
    const char *fake_gpus; /* tests: "BDF@NODE,BDF@NODE" adds GPUs; NULL = none */
    bool probe_gpus;       /* ask CUDA and NVML (costs the driver's start) */
    bool only_order; /* read only order and node of GPUs. CUDA, which takes a third of a second to
                        start, is used only if NVML does not tell its order */
    bool for_others; /* every CPU is allowed: our own limits do not apply to other processes */
};

/*
 * Fills *topo; free it with topo_free, also after an error. `xml` is a file if such a file exists
 * or if it ends in ".xml". GPUs of another machine get the ordinals that CUDA would give them in
 * PCI order, unless the XML names them (cuda0, ...). -ENOENT: no such file. -EINVAL: malformed XML
 * or description. -ENOTSUP: more CPUs than a bitset holds. -ENOMEM.
 */
int topo_load(const struct topo_options *options, struct topo *topo, struct err *err);
void topo_free(struct topo *topo);

/* Adds the allowed os_cpu numbers to *set, which the caller has zeroed. */
void topo_allowed_cpus(const struct topo *topo, struct bitset *set);

/* Index in nodes[]; -1 for an unknown os_node. */
int topo_node_index(const struct topo *topo, unsigned os_node);

/* False if this node (an index) has no memory. True if no node reports any: that means unknown. */
bool topo_has_memory(const struct topo *topo, unsigned node);

/* The node that this CPU belongs to, with memory or without; -1 = none is known. */
int topo_own_node(const struct topo *topo, const struct topo_cpu *cpu);
/* The own node of all these CPUs; -1: they have several, or none is known. */
int topo_node_of_cpus(const struct topo *topo, const struct bitset *cpus);

/*
 * The node whose memory CPUs of node `own` use: `own`, or the nearest whose memory is allowed.
 * Nodes without memory share equally near ones in turn, as under Linux. `own` may be -1. -1: there
 * is none.
 */
int topo_memory_node(const struct topo *topo, int own);

/* Number of GPUs that CUDA sees: workers can only use these. They come first in gpus[]. */
unsigned topo_visible_gpus(const struct topo *topo);

/*
 * The GPU's number among the visible ones under CUDA_DEVICE_ORDER=PCI_BUS_ID. It selects the GPU if
 * CUDA_VISIBLE_DEVICES is not set; CUDA's own order may differ there.
 */
unsigned topo_gpu_bus_number(const struct topo *topo, const struct topo_gpu *gpu);

/*
 * The CPUs of the core at cpus[*at] (CPUs of a core are adjacent); *at moves to the next core.
 * Start with *at = 0. False: there are no more.
 */
bool topo_next_core(const struct topo *topo, unsigned *at, struct bitset *core);

/* "performance" or "efficiency" if there are two kinds, else "fastest", "middle" or "slowest". */
const char *topo_kind_name(const struct topo *topo, int kind);

/* True when the CPUs are of several kinds of cores. */
bool topo_mixes_cores(const struct topo *topo, const struct bitset *cpus);

/* The fewest and the most logical CPUs a core has, allowed or not. */
void topo_threads_per_core(const struct topo *topo, unsigned *min, unsigned *max);

/* "sysfs", "nvml", "hwloc", "option", "unknown". */
const char *topo_source_name(enum topo_source source);

/* Which NUMA node a CPU is nearest to, also where its own has no memory. Pure. */

/*
 * Sets the node of each CPU (-1: unknown) from the nodes' CPUs, memory and distances; then nodes
 * with memory that are nearest to no CPU have no CPUs. -ENOMEM only.
 */
int topo_nearest_nodes(struct topo *topo, struct err *err);

/* Ranks kinds of cores, and merges those that differ by less than users care for: firmware may tell
 * five where the chip has two. Pure. */
enum { TOPO_KINDS_MAX = 64 };

/* A kind as the system tells it. */
struct topo_kind {
    double capacity;          /* relative speed, 1024 = the fastest core; 0 = unknown */
    double max_mhz, base_mhz; /* 0 = unknown */
    int efficiency;           /* hwloc's rank, 0 = the slowest; -1 = unknown */
    char design[32];          /* "IntelAtom"; "" = unknown */
};

/*
 * Fills merged[n], the kind that each belongs to, 0 = slowest, and returns how many remain. The
 * rank is that of the capacities, else hwloc's, else that of the clocks; without any, all are one
 * kind. A kind joins a faster one of at most 10% more capacity. Without capacities it joins one of
 * the same design if no clock differs by more than 10%.
 */
unsigned topo_kinds_merge(const struct topo_kind *kinds, unsigned n, int *merged);

#endif

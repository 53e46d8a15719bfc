/*
 * Plans gpu_copy: the points and their order, how they share the time, and the keys of values.
 * Pure: uses no GPU.
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_PLAN_H
#define CONTEND_BENCH_COPY_GPU_COPY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/engine/contract/bench.h"
#include "kernels/gpu/copy/gpu_copy.h"

/*
 * BOTH is H2D and D2H at the same time; SWAP is two GPUs' copies to each other at the same time;
 * TO_ONE is copies from all other GPUs to one, FROM_ONE the reverse. Same order as copy_dir_names.
 */
enum copy_dir {
    COPY_H2D,
    COPY_D2H,
    COPY_BOTH,
    COPY_D2D, /* this and the following: between GPUs */
    COPY_SWAP,
    COPY_TO_ONE,
    COPY_FROM_ONE,
    COPY_DIRS
};
enum copy_mem { COPY_PINNED, COPY_PAGED, COPY_COMBINED, COPY_MEMS };
enum copy_via { COPY_CE, COPY_SM, COPY_VIAS };

/* Choices of options, NULL-terminated: "all", then the name of each value at index 1 + value. */
extern const char *const copy_dir_names[], *const copy_mem_names[], *const copy_via_names[];

/* Indices of the dimensions. */
enum {
    BY_DIR = 1,
    BY_MEM,
    BY_GPU,
    BY_NODE,
    BY_VIA,
    BY_WITH,
    BY_SOURCE,
    BY_TARGET,
    BY_OP,
    BY_SIZE,
    BY_STAT
};
enum { WITH_ALONE, WITH_ALL };
enum { OP_READ, OP_WRITE };
enum { STAT_P50, STAT_P99 };
enum { MEM_DEVICE = COPY_MEMS, MEM_PEER }; /* of chases, after the kinds of host memory */
extern const struct bench_dim copy_dims[];

enum { COPY_NODES = 64 };

/* The parts of the machine that copies use. Nodes and GPUs by index. */
struct copy_shape {
    unsigned ngpus, nnodes; /* both >= 1 */
    bool named;             /* false: one node, whose number is unknown */
    bool bound;             /* memory is bound to nodes, and its place is checked */
    unsigned os_node[COPY_NODES];
    unsigned home[GPU_COPY_GPUS]; /* the node that a GPU is nearest to */
    bool direct[GPU_COPY_GPUS][GPU_COPY_GPUS];
};

/* The user's choice: indices in the lists of names. A choice of `mem` excludes pairs of GPUs. */
struct copy_filter {
    int dir, mem, via;
    bool home; /* host memory only of the GPU's own node */
};

struct copy_point {
    enum copy_dir dir;
    enum copy_mem mem;
    enum copy_via via;
    bool all;      /* every GPU at once with memory of its home; `gpu` and `node` are unused.
                      SWAP: each GPU copies to the GPU 1 + `peer` places after it */
    bool write;    /* between GPUs: the source issues the copy, else the destination */
    unsigned gpu;  /* D2D: the source; SWAP: the first; TO_ONE, FROM_ONE: the ONE */
    unsigned peer; /* D2D: the destination; SWAP: the second */
    unsigned node; /* of host memory */
};

/*
 * Sets nodes and homes. `can_bind`: memory can be bound to a node. GPUs whose node the system does
 * not name are spread over the nodes. Does not change `direct`.
 */
void copy_shape_init(struct copy_shape *shape, const struct bench_machine *machine, bool can_bind);

/*
 * Lists the points in the order of their rows: what most users ask for first, and each GPU alone
 * before all GPUs at once. Returns how many there are and writes at most `room` of them.
 */
size_t copy_plan(const struct copy_shape *shape, const struct copy_filter *filter,
                 struct copy_point *points, size_t room);

/* True if no host memory takes part, except to stage copies. */
bool copy_is_between_gpus(const struct copy_point *point);

/* True if latency is measured for the point too: pinned memory of its home, one way, alone. */
bool copy_has_latency(const struct copy_shape *shape, const struct copy_point *point);

/* A chain of loads by one thread of `gpu`, through the GPU's memory, the host's or a peer's. */
struct copy_chase {
    enum { CHASE_DEVICE, CHASE_HOST, CHASE_PEER } mem;
    unsigned gpu, peer; /* CHASE_PEER: in the memory of `peer` */
};

/* As copy_plan; `filter` applies as for copies by kernel to the GPU (h2d, d2d). */
size_t copy_chases(const struct copy_shape *shape, const struct copy_filter *filter,
                   struct copy_chase *chases, size_t room);

/* As keys "mem=pinned;gpu=0;node=0", "mem=device;gpu=0", "mem=peer;src=1;dst=0". */
struct dims copy_chase_dims(const struct copy_shape *shape, const struct copy_chase *chase);

enum { COPY_BATCHES = 3 };

/*
 * How many untimed copies to make, after one that measures once_s. They take a third of share_s, at
 * least 10 ms, so that link and clocks are up. At least 2 if a CPU stages them, since the first
 * ones allocate the driver's staging buffers and fault pages in.
 */
unsigned copy_settle(double share_s, double once_s, bool staged);

/* Batches of copies, each batch timed as a whole. */
struct copy_split {
    unsigned copies, batches;
};

/*
 * Splits share_s if one copy takes once_s: from one batch of one copy to COPY_BATCHES of 16. With
 * several flows, a batch has at least 4 copies of each, so that all flows overlap for longer than
 * one copy. A batch has more than 16 only if it would else be too short for events.
 */
struct copy_split copy_split(double share_s, double once_s, unsigned nflows);

/*
 * Copies per second of flows[i] while all flows, which began together, were running: up to its last
 * mark that is no later than the end of the first flow to end. A flow without such a mark counts up
 * to its first mark.
 */
double copy_rate(const struct gpu_copy_progress *flows, unsigned nflows, unsigned i);

/*
 * As a key "dir=h2d;gpu=0;node=0;mem=pinned;via=ce;with=alone", for GPU `gpu` of the point; an
 * unknown node is "any".
 */
struct dims copy_point_dims(const struct copy_shape *shape, const struct copy_point *point,
                            unsigned gpu);

#endif

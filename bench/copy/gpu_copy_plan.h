/*
 * Plans gpu_copy: the points and their order, how time is shared out, and where values stand. Pure:
 * knows no GPU.
 */
#ifndef CONTEND_BENCH_COPY_GPU_COPY_PLAN_H
#define CONTEND_BENCH_COPY_GPU_COPY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/contract/bench.h"
#include "kernels/gpu/gpu_copy.h"

/*
 * BOTH is H2D and D2H at the same time, SWAP two GPUs' copies to each other at the same time; to
 * ONE GPU from all others, or from ONE to all others. In the order of the options' names behind
 * "all".
 */
enum copy_dir {
    COPY_H2D,
    COPY_D2H,
    COPY_BOTH,
    COPY_D2D, /* from here on between GPUs */
    COPY_SWAP,
    COPY_TO_ONE,
    COPY_FROM_ONE,
    COPY_DIRS
};
enum copy_mem { COPY_PINNED, COPY_PAGED, COPY_COMBINED, COPY_MEMS };
enum copy_via { COPY_CE, COPY_SM, COPY_VIAS };

/* "all", "h2d", ..., NULL and so on: a name's index is 1 + the value, 0 is all of them. */
extern const char *const copy_dir_names[], *const copy_mem_names[], *const copy_via_names[];

/* The dimensions of its values. */
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
enum { MEM_DEVICE = COPY_MEMS, MEM_PEER }; /* of chases, behind those of the host */
extern const struct bench_dim copy_dims[];

enum { COPY_NODES = 64 };

/* The parts of the machine that copies use. Nodes and GPUs by index. */
struct copy_shape {
    unsigned ngpus, nnodes; /* both >= 1 */
    bool named;             /* else there is one node, of which nothing is known */
    bool bound;             /* memory is bound to nodes, and asked whether it lies there */
    unsigned os_node[COPY_NODES];
    unsigned home[GPU_COPY_GPUS]; /* the node that a GPU is near */
    bool direct[GPU_COPY_GPUS][GPU_COPY_GPUS];
};

/* The user's choice: indices in the lists of names. A kind of memory leaves pairs out. */
struct copy_wish {
    int dir, mem, via;
    bool home; /* of host memory, only that of the GPU's own node */
};

struct copy_point {
    enum copy_dir dir;
    enum copy_mem mem;
    enum copy_via via;
    bool all;      /* every GPU at once with memory of its home; `gpu` and `node` mean nothing.
                      SWAP: each to the one `peer` places behind it */
    bool write;    /* between GPUs: issued by the source, else by the destination */
    unsigned gpu;  /* D2D: the source; SWAP: the first of the two; TO_ONE, FROM_ONE: that one */
    unsigned peer; /* D2D: the destination; SWAP: the second */
    unsigned node; /* of host memory */
};

/*
 * Nodes and homes: `can_bind` says whether memory can be bound to a node. A GPU whose node the
 * system does not name gets one in turn. `direct` is left as it is.
 */
void copy_shape_init(struct copy_shape *shape, const struct bench_machine *machine, bool can_bind);

/*
 * The points in the order of their rows, what most users ask for first; alone stands before its
 * all. Returns how many there are and writes at most `room` of them.
 */
size_t copy_plan(const struct copy_shape *shape, const struct copy_wish *wish,
                 struct copy_point *points, size_t room);

/* No host memory takes part, unless copies are staged. */
bool copy_is_between_gpus(const struct copy_point *point);

/* A point of whose GPU latencies are measured too: pinned memory of its home, one way, alone. */
bool copy_has_latency(const struct copy_shape *shape, const struct copy_point *point);

/* A chain of loads by one thread of `gpu`, through memory that is its own, the host's, or a peer's.
 */
struct copy_chase {
    enum { CHASE_DEVICE, CHASE_HOST, CHASE_PEER } mem;
    unsigned gpu, peer; /* peer: whose memory, of CHASE_PEER */
};

/* As copy_plan; wishes are heeded as for copies by kernel to the GPU (h2d, d2d). */
size_t copy_chases(const struct copy_shape *shape, const struct copy_wish *wish,
                   struct copy_chase *chases, size_t room);

/* As keys "mem=pinned;gpu=0;node=0", "mem=device;gpu=0", "mem=peer;src=1;dst=0". */
struct dims copy_chase_dims(const struct copy_shape *shape, const struct copy_chase *chase);

enum { COPY_BATCHES = 3 };

/*
 * How many copies go before the first that counts, behind one that says how long they take: a third
 * of share_s of them, 10 ms at least, so that link and clocks are up; and 2 in any case where a CPU
 * stages them, since the first ones find neither the driver's staging buffers nor pages there.
 */
unsigned copy_settle(double share_s, double once_s, bool staged);

/* Batches of copies, each batch timed as a whole. */
struct copy_split {
    unsigned copies, batches;
};

/*
 * In share_s where one copy takes once_s: at least one batch of one copy, of several flows at once
 * of 4, lest the time in which all are under way be a copy's; at most BATCHES of 16. More only
 * where copies are so short that a batch would be too short for events.
 */
struct copy_split copy_split(double share_s, double once_s, unsigned nflows);

/*
 * Copies a second of flows[i], of several that began together, while all were under way: up to its
 * last mark that is no later than the end of the first flow that ended; of a flow that had none by
 * then, up to its first.
 */
double copy_rate(const struct gpu_copy_progress *flows, unsigned nflows, unsigned i);

/*
 * As a key "dir=h2d;gpu=0;node=0;mem=pinned;via=ce;with=alone", for GPU `gpu` of the point; a node
 * of which nothing is known is "any".
 */
struct dims copy_point_dims(const struct copy_shape *shape, const struct copy_point *point,
                            unsigned gpu);

#endif

/*
 * What runs collectives: NCCL over GPUs (collective_nccl.c) or MPI on the CPUs (collective_mpi.c),
 * behind one interface for the benchmark, the scan in collective.c.
 *
 *   struct collective team = {.ops = collective_ops_of(ctx->device)};
 *   rc = team.ops->probe(ctx, &ranks_here)              all processes, before anything else
 *   rc = team.ops->open(&team, ctx, most_bytes)         all processes
 *   for each size: team.ops->prepare(&team, &call, err)
 *                  team.ops->run(&team, iters, &elapsed_ns, err)   as often as one likes
 *                  team.ops->time_each(&team, iters, times, err)
 *                  team.ops->check(&team, repetition, &verdict, err)
 *   team.ops->close(&team)                              also after a failed open
 *
 * One process holds one rank, or all of them (a process that drives several GPUs): ranks first ..
 * first + local - 1. All processes make the same calls with the same arguments, in the same order;
 * a call may meet the others through ctx->peers. After an error only close may follow.
 *
 * Errors: 0 or a negative errno, the reason in err: -ENOTSUP cannot run here (probe), -ENOMEM
 * buffers do not fit, -EIO what the library reports.
 */
#ifndef CONTEND_BENCH_COLLECTIVE_ENGINE_H
#define CONTEND_BENCH_COLLECTIVE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/bench.h"

/* In the order of the parameter `op`. */
enum collective_op {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCESCATTER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_SENDRECV, /* round a ring: to rank + 1, from rank - 1 */
    COLLECTIVE_OPS,
};

/* In the order of the parameter `type`; reductions are sums. */
enum collective_type {
    COLLECTIVE_INT8,
    COLLECTIVE_INT32,
    COLLECTIVE_INT64,
    COLLECTIVE_HALF,
    COLLECTIVE_BFLOAT16,
    COLLECTIVE_FLOAT,
    COLLECTIVE_DOUBLE,
    COLLECTIVE_TYPES,
};

/* Of one element. */
size_t collective_type_bytes(enum collective_type type);

/*
 * One operation. Where an operation deals with a part for each rank (all-gather, reduce-scatter,
 * all-to-all), `count` is of one part, and the whole buffer has ranks * count elements.
 *
 *   op             send buffer     recv buffer     in place means
 *   allreduce      count           count           send = recv
 *   allgather      count           ranks * count   send = recv + rank * count
 *   reducescatter  ranks * count   count           recv = send + rank * count
 *   broadcast      count (root's)  count           send = recv
 *   reduce         count           count (root's)  send = recv
 *   alltoall       ranks * count   ranks * count   never
 *   sendrecv       count           count           never
 */
struct collective_call {
    enum collective_op op;
    enum collective_type type;
    bool in_place;
    unsigned root; /* of broadcast and reduce */
    size_t count;  /* > 0 */
    size_t bytes;  /* of the larger of the two buffers: METHOD.md's S */
    bool graph;    /* capture a batch once, then replay it; MPI: -ENOTSUP in probe */
};

/* By the table above: a part for each rank; adds values up; can be done in place. */
bool collective_has_parts(enum collective_op op);
bool collective_is_summed(enum collective_op op);
bool collective_has_in_place(enum collective_op op);

/* One operation of one rank, in the pass that times each. */
struct collective_time {
    float begin_us; /* when the rank came to it, since its first */
    float end_us;   /* when it was done with it */
};

/* Of all ranks of this process. */
struct collective_verdict {
    uint64_t wrong; /* elements that are not what they should be */
    unsigned rank;  /* the first of them: whose buffer, where in it, and what */
    uint64_t index;
    double got, want;
};

struct collective_ops;

struct collective {
    const struct collective_ops *ops;
    unsigned ranks;        /* of all processes together */
    unsigned first, local; /* the ranks of this process */
    void *impl;            /* the engine's own */
};

struct collective_ops {
    const char *name; /* "nccl", "mpi" */

    /*
     * Whether this process could take part, without meeting the others; *local is how many ranks
     * it would hold. -ENOTSUP with the reason. The benchmark then makes all processes agree.
     */
    int (*probe)(struct bench_ctx *ctx, unsigned *local);

    /*
     * Joins all processes; sets ranks, first, local and impl. `most_bytes` is the largest `bytes`
     * that any call will have.
     */
    int (*open)(struct collective *team, struct bench_ctx *ctx, size_t most_bytes);

    /* What the next calls run. Does no operation, and need not touch any buffer. */
    int (*prepare)(struct collective *team, const struct collective_call *call, struct err *err);

    /*
     * One operation that is not timed, so that all begin together; then `iters` of them back to
     * back. *elapsed_ns: from the first one's start to the last one's end on all ranks of this
     * process, by the host's clock. Hot: no allocation, no I/O.
     */
    int (*run)(struct collective *team, uint64_t iters, uint64_t *elapsed_ns, struct err *err);

    /*
     * The same with a look at the (device's) clock on both sides of each operation:
     * times[k * iters + i] is operation i of rank first + k. Clocks of ranks need not agree.
     */
    int (*time_each)(struct collective *team, unsigned iters, struct collective_time *times,
                     struct err *err);

    /*
     * Writes inputs that depend on rank, element and repetition (kernels/collective_value.h),
     * poisons outputs (all bits set), does one operation, and compares every element that the
     * operation defines. Wrong values are no error of the call.
     */
    int (*check)(struct collective *team, unsigned repetition, struct collective_verdict *verdict,
                 struct err *err);

    /* NULL impl is fine. Must not wait for ranks that are gone: aborts after an error. */
    void (*close)(struct collective *team);
};

extern const struct collective_ops collective_nccl_ops; /* collective_nccl.c */

/* NULL where this program has none for the device. */
const struct collective_ops *collective_ops_of(enum device device);

/*
 * All processes return the same: 0 where all came with 0, else the code of the first that did not,
 * with its message in err ("rank 3: ..."). Call it where one process alone may have failed.
 */
int collective_agree(struct peers *peers, int rc, struct err *err);

#endif

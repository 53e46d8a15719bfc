/*
 * Runs collectives: NCCL over GPUs (collective_nccl.c) or MPI on the CPUs (collective_mpi.c),
 * behind one interface for the benchmark, the scan in collective.c.
 *
 *   struct collective team = {.ops = collective_ops_of(ctx->device)};
 *   rc = team.ops->probe(ctx, &local)                   each process for itself
 *   rc = team.ops->open(&team, ctx, most_bytes)         from here on, all together
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
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_ENGINE_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "kernels/collective/collective_call.h"

/* One operation of one rank, in the pass that times each. */
struct collective_time {
    float busy_us;   /* from when the rank had come to it until it was done with it */
    float period_us; /* since the end of the operation before; of the first: busy_us */
};

/* Covers all ranks of this process. */
struct collective_verdict {
    uint64_t wrong; /* elements that are not what they should be */
    /* One of them: in whose recv buffer, where in it, and what. */
    unsigned rank;
    char on[48]; /* the rank's device, "GPU 1 (0000:07:00.0)"; "" = none */
    uint64_t index;
    double got, want;
};

struct collective {
    const struct collective_ops *ops;
    /* Set by open. */
    unsigned ranks;        /* of all processes together */
    unsigned first, local; /* the ranks of this process */
    size_t most_bytes;     /* that fit; in all processes the same, at most what was asked for */
    unsigned batch;        /* prepare may set it: `iters` of run is then a multiple of it; 0 = 1 */
    void *impl;            /* the engine's own */
};

struct collective_ops {
    const char *name; /* "nccl", "mpi" */

    /*
     * Whether this process could take part, without meeting the others; *local is how many ranks
     * it would hold. -ENOTSUP with the reason. Parameters are those of `collective`; the benchmark
     * then makes all processes agree.
     */
    int (*probe)(struct bench_ctx *ctx, unsigned *local);

    /*
     * Joins all processes. `most_bytes` is the largest `bytes` that calls will have; where memory
     * is short, team->most_bytes says how far they can go. Where one process cannot, all return the
     * same error, or it alone does while they wait in the library: the harness then ends them.
     */
    int (*open)(struct collective *team, struct bench_ctx *ctx, size_t most_bytes);

    /*
     * Sets the operation of the next calls. -ENOTSUP where the library has no such operation or
     * type.
     */
    int (*prepare)(struct collective *team, const struct collective_call *call, struct err *err);

    /*
     * One operation that is not timed, so that all begin together; then `iters` of them back to
     * back. *elapsed_ns: from the first one's start to the last one's end on all ranks of this
     * process, by the host's clock. Hot: no allocation, no I/O.
     */
    int (*run)(struct collective *team, uint64_t iters, uint64_t *elapsed_ns, struct err *err);

    /*
     * The same, by the device's clock where there is one, with a look at it on both sides of each
     * operation: times[k * iters + i] is operation i of rank first + k. iters is at most
     * COLLECTIVE_TIMES_MAX.
     */
    int (*time_each)(struct collective *team, unsigned iters, struct collective_time *times,
                     struct err *err);

    /*
     * Fills inputs by kernels/collective/collective_value.h, poisons outputs (all bits set), does
     * one operation, and compares every element that it defines; then the same for a batch, where
     * there is one. Wrong values are no error of the call.
     */
    int (*check)(struct collective *team, unsigned repetition, struct collective_verdict *verdict,
                 struct err *err);

    /* A team that was never opened is fine. Must not wait for ranks that are gone. */
    void (*close)(struct collective *team);
};

enum { COLLECTIVE_TIMES_MAX = 512 };

extern const struct collective_ops collective_nccl_ops; /* collective_nccl.c */
extern const struct collective_ops collective_mpi_ops;  /* collective_mpi.c */

/* NULL where this program has none for the device. */
const struct collective_ops *collective_ops_of(enum device device);

/*
 * All processes return the same: 0 where all came with 0, else the code of the first that did not,
 * with its message in err ("rank 3: ...", unless all say the same or it names a rank). Call it
 * where one process alone may have failed.
 */
int collective_agree(struct peers *peers, int rc, struct err *err);

#endif

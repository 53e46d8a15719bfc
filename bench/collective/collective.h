/*
 * The benchmark `collective` with an engine of the caller's choice, for tests. These are the calls
 * of struct bench, but the engine is an argument and does not follow from ctx->device. The rest of
 * bench_collective (scan, check, teardown) uses the engine that setup was given.
 */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "kernels/collective/collective_call.h"

/*
 * Runs collectives: NCCL over GPUs (collective_nccl.c) or MPI on the CPUs (collective_mpi.c),
 * behind one interface for the benchmark in collective.c.
 *
 *   struct collective team = {.ops = collective_ops_of(ctx->device)};
 *   rc = team.ops->probe(ctx, &local)                   each process for itself
 *   rc = team.ops->open(&team, ctx, most_bytes)         this and the following: all together
 *   for each size: team.ops->prepare(&team, &call, err)
 *                  team.ops->run(&team, iters, &elapsed_ns, err)   any number of times
 *                  team.ops->time_each(&team, iters, times, err)
 *                  team.ops->check(&team, repetition, &verdict, err)
 *   team.ops->close(&team)                              also after a failed open
 *
 * One process holds one rank, or all ranks if it drives several GPUs: ranks first .. first + local
 * - 1. All processes make the same calls with the same arguments, in the same order; a call may
 * exchange data with the other processes through ctx->peers. After an error only close may follow.
 *
 * Errors: 0 or a negative errno, the reason in err: -ENOTSUP cannot run here (probe), -ENOMEM
 * buffers do not fit, -EIO what the library reports.
 */

/* One operation of one rank, from time_each. */
struct collective_time {
    float busy_us;   /* from when the rank had come to the operation until its end */
    float period_us; /* since the end of the previous operation; for the first: busy_us */
};

/* Covers all ranks of this process. */
struct collective_verdict {
    uint64_t wrong; /* wrong elements */
    /* One wrong element: at `index` in the recv buffer of `rank`. */
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
    size_t most_bytes;     /* largest call that fits; the same in all processes */
    unsigned batch;        /* set by prepare: `iters` of run must be a multiple of it; 0 = 1 */
    void *impl;            /* private to the engine */
};

struct collective_ops {
    const char *name; /* "nccl", "mpi" */

    /*
     * Tells whether this process could take part, without contact to other processes; *local: how
     * many ranks it would hold. -ENOTSUP with the reason. Parameters are those of `collective`. The
     * benchmark then makes all processes agree.
     */
    int (*probe)(struct bench_ctx *ctx, unsigned *local);

    /*
     * Joins all processes. `most_bytes` is the largest `bytes` of later calls; if memory is short,
     * team->most_bytes is set lower. If one process cannot join, either all return the same error,
     * or it returns its own while the others wait in the library and the harness ends them.
     */
    int (*open)(struct collective *team, struct bench_ctx *ctx, size_t most_bytes);

    /* Sets the operation of later calls. -ENOTSUP: the library has no such operation or type. */
    int (*prepare)(struct collective *team, const struct collective_call *call, struct err *err);

    /*
     * Runs one untimed operation, so that all ranks begin together, then `iters` operations back to
     * back. *elapsed_ns: from the start of the first to the end of the last on all ranks of this
     * process, by the host's clock. Hot: no allocation, no I/O.
     */
    int (*run)(struct collective *team, uint64_t iters, uint64_t *elapsed_ns, struct err *err);

    /*
     * As run, but reads a clock before and after each operation: the device's, or the host's if the
     * device has none. times[k * iters + i] is operation i of rank first + k. iters is at most
     * COLLECTIVE_TIMES_MAX.
     */
    int (*time_each)(struct collective *team, unsigned iters, struct collective_time *times,
                     struct err *err);

    /*
     * Fills inputs by kernels/collective/collective_value.h, poisons outputs (all bits set), runs
     * one operation and compares every element that it defines; then the same for a batch if
     * `batch` is above 1. Wrong values are reported in *verdict and are not an error.
     */
    int (*check)(struct collective *team, unsigned repetition, struct collective_verdict *verdict,
                 struct err *err);

    /* Accepts a team that was never opened. Must not wait for ranks that are gone. */
    void (*close)(struct collective *team);
};

enum { COLLECTIVE_TIMES_MAX = 512 };

extern const struct collective_ops collective_nccl_ops; /* collective_nccl.c */
extern const struct collective_ops collective_mpi_ops;  /* collective_mpi.c */

/*
 * Called by all processes where a single one may have failed; returns the same in all: 0 if every
 * `rc` is 0, else the code of the first process with an error, with its message in err. "rank 3: "
 * precedes the message unless all processes have the same message or it already names a rank.
 */
int collective_agree(struct peers *peers, int rc, struct err *err);

int collective_probe_with(struct bench_ctx *ctx, const struct collective_ops *ops);
int collective_setup_with(struct bench_ctx *ctx, const struct collective_ops *ops);

#endif

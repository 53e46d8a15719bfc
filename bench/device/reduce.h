/*
 * The collectives of a training step, one after the other, among the workers of a role: all-reduce,
 * reduce-scatter and all-gather of floats. On `cuda` by NCCL (kernels/collective/gpu_collective.h)
 * on a separate stream, on `sim` by a model.
 *
 *   struct reduce reduce = {0};
 *   rc = reduce_open(&reduce, &config, ctx);      all ranks together
 *   rc = reduce_start(&reduce, &arrived_ns, err);                in every step; returns at once
 *   rc = reduce_finish(&reduce, err);                         returns when all are done
 *   rc = reduce_check(&reduce, err);
 *   reduce_close(&reduce);              also after a failed open; a zeroed one is closed
 *
 * All ranks make the same calls in the same order. A rank waits without limit for a rank that does
 * not arrive: the harness ends the waiting ranks.
 */
#ifndef CONTEND_BENCH_DEVICE_REDUCE_H
#define CONTEND_BENCH_DEVICE_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/engine/contract/bench.h"
#include "kernels/collective/collective_call.h"

struct reduce_config {
    enum device kind;                    /* DEVICE_SIM or DEVICE_CUDA */
    const struct collective_call *calls; /* [ncalls], borrowed until close */
    size_t ncalls;                       /* at least one */
    bool spin;                           /* sim: wait for the rings on the clock, else asleep */
    double sim_gbps; /* sim: GB/s (1e9 bytes) that each rank sends to the next */
};

struct reduce;

struct reduce_ops {
    /* Called by each rank independently; NULL = always possible. */
    int (*probe)(const struct bench_ctx *ctx);
    int (*open)(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx);
    int (*start)(struct reduce *reduce, uint64_t *arrived_ns, struct err *err);
    int (*finish)(struct reduce *reduce, struct err *err);
    int (*check)(struct reduce *reduce, struct err *err); /* NULL = no result to check */
    void (*close)(struct reduce *reduce);
};

struct reduce {
    const struct reduce_ops *ops; /* NULL = closed */
    struct peers *peers;
    const struct collective_call *calls;
    size_t ncalls;
    void *impl;
};

/* reduce_sim.c, reduce_cuda.c. Without CUDA in the build, the latter is -ENOTSUP. */
extern const struct reduce_ops reduce_sim_ops, reduce_cuda_ops;

/* -ENOTSUP with the reason: no library, or fewer GPUs than ctx->planned_workers. */
int reduce_probe(const struct bench_ctx *ctx);

int reduce_open(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx);

/*
 * Starts the collectives of a step. *arrived_ns is the time of this rank's arrival (clock_now_ns);
 * on cuda the time when its first launch returns.
 */
int reduce_start(struct reduce *reduce, uint64_t *arrived_ns, struct err *err);

/* Returns when the started collectives are done. */
int reduce_finish(struct reduce *reduce, struct err *err);

/* Runs each kind and size once more on known numbers; -EBADMSG if a result is wrong. */
int reduce_check(struct reduce *reduce, struct err *err);

void reduce_close(struct reduce *reduce);

#endif

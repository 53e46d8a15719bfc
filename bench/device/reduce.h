/*
 * The collectives of a training step, one after the other, among the workers of a role: all-reduce,
 * reduce-scatter and all-gather of floats. On `cuda` by NCCL (kernels/collective/gpu_collective.h)
 * on a stream of their own, on `sim` by a model.
 *
 *   struct reduce reduce = {0};
 *   rc = reduce_open(&reduce, &config, ctx);      all ranks together
 *   rc = reduce_start(&reduce, &came_ns, err);                in every step; goes on at once
 *   rc = reduce_finish(&reduce, err);                         when all of them are done
 *   rc = reduce_check(&reduce, err);
 *   reduce_close(&reduce);              also after a failed open; a zeroed one is closed
 *
 * All ranks make the same calls in the same order. A rank that does not come is waited for without
 * end: the harness ends the others.
 */
#ifndef CONTEND_BENCH_DEVICE_REDUCE_H
#define CONTEND_BENCH_DEVICE_REDUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/contract/bench.h"
#include "kernels/collective/collective_call.h"

struct reduce_config {
    enum device kind;                    /* DEVICE_SIM or DEVICE_CUDA */
    const struct collective_call *calls; /* [ncalls], borrowed until it is closed */
    size_t ncalls;                       /* at least one */
    bool spin;                           /* sim: wait on the clock for the rings, else asleep */
    double sim_gbps; /* sim: GB/s (1e9 bytes) that each rank sends to the next */
};

struct reduce;

struct reduce_ops {
    /* Each rank for itself; NULL = always possible. */
    int (*probe)(const struct bench_ctx *ctx);
    int (*open)(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx);
    int (*start)(struct reduce *reduce, uint64_t *came_ns, struct err *err);
    int (*finish)(struct reduce *reduce, struct err *err);
    int (*check)(struct reduce *reduce, struct err *err); /* NULL = there is no result */
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

/* -ENOTSUP with the reason: no library, or fewer GPUs than the ctx->slots ranks need. */
int reduce_probe(const struct bench_ctx *ctx);

int reduce_open(struct reduce *reduce, const struct reduce_config *config, struct bench_ctx *ctx);

/*
 * Comes to the collectives of a step. *came_ns is when this rank did so (clock_now_ns), on cuda
 * when its first call had launched one.
 */
int reduce_start(struct reduce *reduce, uint64_t *came_ns, struct err *err);

/* Returns when those that were started are done. */
int reduce_finish(struct reduce *reduce, struct err *err);

/* One more of each kind and size, of known numbers; -EBADMSG where a result is wrong. */
int reduce_check(struct reduce *reduce, struct err *err);

void reduce_close(struct reduce *reduce);

#endif

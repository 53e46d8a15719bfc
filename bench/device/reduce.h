/*
 * The all-reduce behind a training step: a gradient-sized float buffer, summed over the workers of
 * a role. On `cuda` by NCCL (kernels/collective/gpu_collective.h), on `sim` by a model.
 *
 *   struct reduce reduce = {0};
 *   rc = reduce_open(&reduce, &config, ctx->peers, err);      all ranks together
 *   rc = reduce_run(&reduce, &came_ns, err);                  in every step
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

#include "harness/core/bench.h"

struct reduce_config {
    enum device kind;    /* DEVICE_SIM or DEVICE_CUDA */
    const char *pci_bdf; /* of this rank's GPU */
    size_t bytes;        /* of the buffer, a multiple of 4 */
    bool spin;           /* sim: wait on the clock for the ring, else asleep */
    double sim_gbps;     /* sim: GB/s (1e9 bytes) that each rank sends to the next */
};

struct reduce;

struct reduce_ops {
    /* Each rank for itself; NULL = always possible. */
    int (*probe)(const struct bench_ctx *ctx);
    int (*open)(struct reduce *reduce, const struct reduce_config *config, struct err *err);
    int (*run)(struct reduce *reduce, uint64_t *came_ns, struct err *err);
    int (*check)(struct reduce *reduce, struct err *err); /* NULL = there is no result */
    /* Says by bench_made what was called so far; NULL = there is no NCCL. */
    void (*tell)(const struct reduce *reduce, const struct bench_ctx *ctx);
    void (*close)(struct reduce *reduce);
};

struct reduce {
    const struct reduce_ops *ops; /* NULL = closed */
    struct peers *peers;
    void *impl;
};

/* reduce_sim.c, reduce_cuda.c. Without CUDA in the build, the latter is -ENOTSUP. */
extern const struct reduce_ops reduce_sim_ops, reduce_cuda_ops;

/* -ENOTSUP with the reason: no library, or fewer GPUs than the ctx->slots ranks need. */
int reduce_probe(const struct bench_ctx *ctx);

int reduce_open(struct reduce *reduce, const struct reduce_config *config, struct peers *peers,
                struct err *err);

/*
 * One all-reduce; returns when it is done. *came_ns is when this rank came to it (clock_now_ns), on
 * cuda when its call had launched it.
 */
int reduce_run(struct reduce *reduce, uint64_t *came_ns, struct err *err);

/* One more, of known numbers; -EBADMSG where the sum is wrong. */
int reduce_check(struct reduce *reduce, struct err *err);

/* Says by bench_made what NCCL was called for. A closed one is fine. */
void reduce_tell(const struct reduce *reduce, const struct bench_ctx *ctx);

void reduce_close(struct reduce *reduce);

#endif

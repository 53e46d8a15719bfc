/*
 * The communication of data-parallel training in a step, by how it divides its state: parameters of
 * a pattern -> the collectives of a step, in their order. Pure.
 *
 *   whole       one all-reduce of the gradient, as if it were one bucket
 *   ddp         an all-reduce a bucket of the gradient
 *   zero        a reduce-scatter a bucket of the gradient, then an all-gather a bucket of the
 *               parameters, which are as large
 *   fsdp        a layer at a time: an all-gather of its parameters in the forward pass, from the
 *               first layer to the last; then, back from the last, another one and a reduce-scatter
 *               of its gradient
 *   accumulate  as ddp, once in so many batches
 *
 * The S bytes of a rank are a whole bucket or layer, made up to a multiple of the ranks where parts
 * of it are dealt out; what a rank then sends to the next in a ring is 2 S (n-1) / n for an
 * all-reduce and S (n-1) / n for the others (METHOD.md).
 *
 * Sources: ddp: Li et al., "PyTorch Distributed", VLDB 13 (2020), section 3.2; buckets of 25 MiB
 * are the default of torch.nn.parallel.DistributedDataParallel (its documentation, bucket_cap_mb).
 * accumulate: the same, section 3.2.4 (no_sync). zero: Rajbhandari et al., "ZeRO", SC20, section 5,
 * where gradients and the states of the optimizer are divided. fsdp: Zhao et al., "PyTorch FSDP",
 * VLDB 16 (2023), section 3, with parameters freed after the forward pass (full sharding).
 */
#ifndef CONTEND_BENCH_FEED_PATTERN_H
#define CONTEND_BENCH_FEED_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/base/err.h"
#include "kernels/collective/collective_call.h"

enum pattern { PATTERN_WHOLE, PATTERN_DDP, PATTERN_ZERO, PATTERN_FSDP, PATTERN_ACCUMULATE };
extern const char *const pattern_names[]; /* of the parameter */

struct pattern_params {
    int pattern;               /* enum pattern */
    uint64_t gradient, bucket; /* bytes, multiples of 4 */
    unsigned layers;
};

struct pattern_calls {
    size_t n;
    struct collective_call *call; /* owned */
};

enum { PATTERN_CALLS_MOST = 1 << 16 };

/* The calls of one step among so many ranks. -ENOMEM, -E2BIG of more than PATTERN_CALLS_MOST. */
int pattern_make(const struct pattern_params *params, unsigned ranks, struct pattern_calls *calls,
                 struct err *err);
void pattern_free(struct pattern_calls *calls);

/* Bytes that a rank sends to the next one by the formula above; of both kinds of call. */
double pattern_sent(const struct collective_call *call, unsigned ranks);

#endif

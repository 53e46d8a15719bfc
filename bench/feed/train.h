/*
 * Which rank the others waited for, from the times at which ranks came to the barriers of their
 * steps.
 *
 * In step i, rank r is t_i(r) - min t_i late, and waits max t_i - t_i(r). The others wait for the
 * rank of the maximum (the first, if several are equal). Pure.
 */
#ifndef CONTEND_BENCH_FEED_TRAIN_H
#define CONTEND_BENCH_FEED_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "harness/lib/err.h"
#include "kernels/collective/collective_call.h"

/* Sums of one rank over steps; zeroed = none yet. */
struct lateness {
    uint64_t last;    /* steps in which this rank came last */
    uint64_t late_ns; /* sum over those steps: how long after the first rank it came */
    uint64_t wait_ns; /* sum over all steps: how long before the last rank it came */
};

/* Adds steps to ranks[n]. arrived_ns[r * steps + i]: when rank r came in step i, on a shared clock.
 */
void lateness_add(struct lateness *ranks, unsigned n, const uint64_t *arrived_ns, size_t steps);

/*
 * The collectives in a step of data-parallel training, in their order, from the parameters of a
 * pattern. A pattern is a way to divide the training state among ranks. Pure.
 *
 *   whole       one all-reduce of the gradient, as if it were one bucket
 *   ddp         an all-reduce per bucket of the gradient
 *   zero        a reduce-scatter per bucket of the gradient, then an all-gather per bucket of the
 *               parameters, which are as large
 *   fsdp        layer by layer: in the forward pass an all-gather of the layer's parameters; in
 *               the backward pass, from the last layer, an all-gather of its parameters and a
 *               reduce-scatter of its gradient
 *   accumulate  as ddp, once in several batches
 *
 * The S bytes of a rank are a whole bucket or layer, rounded up to a multiple of the ranks if each
 * rank has a part. In a ring, a rank then sends 2 S (n-1) / n to the next rank for an all-reduce,
 * and S (n-1) / n for the other collectives (METHOD.md).
 *
 * Sources: ddp: Li et al., "PyTorch Distributed", VLDB 13 (2020), section 3.2; buckets of 25 MiB
 * are the default of torch.nn.parallel.DistributedDataParallel (its documentation, bucket_cap_mb).
 * accumulate: the same paper, section 3.2.4 (no_sync). zero: Rajbhandari et al., "ZeRO", SC20,
 * section 5, with gradients and optimizer states divided. fsdp: Zhao et al., "PyTorch FSDP",
 * VLDB 16 (2023), section 3, with parameters freed after the forward pass (full sharding).
 */
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

/* The calls of one step among `ranks` ranks; release with pattern_free. -ENOMEM; -E2BIG: there may
 * be more than PATTERN_CALLS_MOST. */
int pattern_make(const struct pattern_params *params, unsigned ranks, struct pattern_calls *calls,
                 struct err *err);
void pattern_free(struct pattern_calls *calls);

/* Bytes that a rank sends to the next rank by the formula above. */
double pattern_sent(const struct collective_call *call, unsigned ranks);

#endif

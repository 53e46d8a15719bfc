/* The aggressors of a dose, by its kind: what `dose` starts, and asks what was held. */
#ifndef CONTEND_BENCH_DOSE_DOSE_H
#define CONTEND_BENCH_DOSE_DOSE_H

#include "harness/contract/bench.h"
#include "harness/contract/dose.h"

struct dose_ops {
    /* Begins to press, until bench_close. */
    int (*start)(struct bench_ctx *ctx, double level);
    /* The level since the last call (or the start), and control of what comes next. */
    double (*hold)(struct bench_ctx *ctx);
    /* Stops, and looks whether the aggressors did the work that they counted. */
    int (*check)(struct bench_ctx *ctx);
    size_t state_size;
};

extern const struct dose_ops dose_cpu, dose_memory, dose_throttle;

#endif

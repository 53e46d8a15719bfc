/* The aggressors of each kind of dose: `dose` starts them, and asks which level was held. */
#ifndef CONTEND_BENCH_DOSE_DOSE_H
#define CONTEND_BENCH_DOSE_DOSE_H

#include "harness/engine/contract/bench.h"
#include "harness/lib/dose.h"

struct dose_ops {
    /* Starts the aggressors, until bench_close. */
    int (*start)(struct bench_ctx *ctx, double level);
    /* Returns the level since the last call (or the start), and adjusts the aggressors. */
    double (*hold)(struct bench_ctx *ctx);
    /* Stops the aggressors, and checks that they did the work that they counted; -EBADMSG if
     * not. */
    int (*check)(struct bench_ctx *ctx);
    size_t state_size;
};

extern const struct dose_ops dose_cpu, dose_memory, dose_h2d, dose_throttle;

#endif

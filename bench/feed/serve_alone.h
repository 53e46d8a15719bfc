/*
 * The rate of one worker of `serve` in a closed loop while the others sleep: the load 100 of all.
 */
#ifndef CONTEND_BENCH_FEED_SERVE_ALONE_H
#define CONTEND_BENCH_FEED_SERVE_ALONE_H

#include "bench/feed/feed.h"

/*
 * Requests a second into *rate. Collective, in setup, before the background begins: the others wait
 * for worker 0, and what it has found holds for all. `behind`: workers of the background that have
 * a share of the CPUs, too. As feed_step, and -ENOMEM.
 */
int serve_alone(struct feed *feed, const struct bench_ctx *ctx, unsigned behind, double *rate);

#endif

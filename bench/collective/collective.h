/*
 * The benchmark `collective` over an engine of the caller's choice, for tests: the calls of struct
 * bench, with the engine as an argument where the benchmark asks ctx->device. The rest of
 * bench_collective (run, check, teardown) uses the engine that setup was given.
 */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_H

#include "bench/collective/collective_engine.h"

int collective_probe_with(struct bench_ctx *ctx, const struct collective_ops *ops);
int collective_setup_with(struct bench_ctx *ctx, const struct collective_ops *ops);

#endif

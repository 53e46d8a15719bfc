/*
 * The benchmark `collective` with an engine of the caller's choice, for tests. These are the calls
 * of struct bench, but the engine is an argument and does not follow from ctx->device. The rest of
 * bench_collective (scan, check, teardown) uses the engine that setup was given.
 */
#ifndef CONTEND_BENCH_COLLECTIVE_COLLECTIVE_H
#define CONTEND_BENCH_COLLECTIVE_COLLECTIVE_H

#include "bench/collective/collective_engine.h"

int collective_probe_with(struct bench_ctx *ctx, const struct collective_ops *ops);
int collective_setup_with(struct bench_ctx *ctx, const struct collective_ops *ops);

#endif

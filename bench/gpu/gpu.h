/*
 * What benchmarks on GPUs share. The kernels' functions (kernels/gpu_*.h) write their messages into
 * an array; these make the harness's errors of them.
 *
 *   char msg[GPU_MSG];
 *   rc = gpu_error(gpu_copy_open(..., msg, sizeof(msg)), msg, ctx->err);
 */
#ifndef CONTEND_BENCH_GPU_GPU_H
#define CONTEND_BENCH_GPU_GPU_H

#include "harness/core/bench.h"

enum { GPU_MSG = 240 }; /* bytes of a message, below those of struct err */

/*
 * -ENOTSUP with the reason: built without CUDA, no driver or one too old, no GPU in ctx->machine,
 * or one whose compute mode is prohibited. Creates no context. For .probe, also from one's own;
 * without CUDA for .scan, too: a scan is one wherever it is built.
 */
int gpu_probe(struct bench_ctx *ctx);

/* 0 for rc 0, else rc with the message in err. */
int gpu_error(int rc, const char *msg, struct err *err);

#endif

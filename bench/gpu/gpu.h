/*
 * Shared by benchmarks on GPUs. The kernels' functions (kernels/gpu/gpu_*.h) write their messages
 * into an array; these make the harness's errors of them, with the GPU's number and address.
 *
 *   char msg[GPU_MSG];
 *   rc = gpu_launch_open(bdf, &gpu, msg, sizeof(msg));
 *   rc = gpu_error_of(rc, gpu_name(ctx->machine, bdf, name), msg, ctx->err);
 */
#ifndef CONTEND_BENCH_GPU_GPU_H
#define CONTEND_BENCH_GPU_GPU_H

#include "harness/contract/bench.h"

enum { GPU_MSG = 240 }; /* bytes of a message, below those of struct err */
enum { GPU_NAME_MAX = 48 };

/*
 * -ENOTSUP with the reason: built without CUDA, no driver or one too old, no GPU in ctx->machine,
 * or none that can be used (gpu_check of kernels/gpu/gpu_common.h; where some can, the others are
 * left out by bench/gpu/gpu_set.h). Creates no context. For .probe, also from one's own; without
 * CUDA for .scan, too: a scan is one wherever it is built.
 */
int gpu_probe(struct bench_ctx *ctx);

/* "GPU 3 (0000:e1:00.0)", by its place in the machine; "GPU 0000:e1:00.0" where it is not there. */
char *gpu_name(const struct bench_machine *machine, const char *pci_bdf,
               char name[static GPU_NAME_MAX]);

/* 0 for rc 0, else rc with the message in err, behind the GPU's name. */
int gpu_error_of(int rc, const char *name, const char *msg, struct err *err);

/* The same for what is no GPU's own. */
int gpu_error(int rc, const char *msg, struct err *err);

#endif

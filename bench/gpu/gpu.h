/*
 * Shared by benchmarks on GPUs. The kernels' errors name no GPU:
 *
 *   rc = gpu_launch_open(bdf, &gpu, ctx->err);
 *   rc = gpu_error_of(rc, gpu_name(ctx->machine, bdf), ctx->err);
 */
#ifndef CONTEND_BENCH_GPU_GPU_H
#define CONTEND_BENCH_GPU_GPU_H

#include "harness/engine/contract/bench.h"

/*
 * -ENOTSUP with the reason: built without CUDA, no driver or an old one, no GPU in ctx->machine, or
 * no usable GPU (gpu_check of kernels/gpu/gpu_common.h). If some GPUs are usable,
 * bench/gpu/gpu_set.h leaves the other GPUs out. Creates no context. For .probe, or for a call
 * in a benchmark's own probe. Builds without CUDA also use it as .scan, so that the benchmark stays
 * a scan.
 */
int gpu_probe(struct bench_ctx *ctx);

/* "GPU 3 (0000:e1:00.0)", with its index in the machine; "GPU 0000:e1:00.0" if not listed there. */
const char *gpu_name(const struct bench_machine *machine, const char *pci_bdf);

/* If rc is an error, puts the name before the message. Returns rc. */
int gpu_error_of(int rc, const char *name, struct err *err);

#endif

/*
 * Shared by benchmarks on GPUs. The kernels' errors name no GPU:
 *
 *   rc = gpu_launch_open(bdf, &gpu, ctx->err);
 *   rc = gpu_error_of(rc, gpu_name(ctx->machine, bdf), ctx->err);
 */
#ifndef CONTEND_BENCH_GPU_GPU_H
#define CONTEND_BENCH_GPU_GPU_H

#include "harness/engine/contract/bench.h"
#include "kernels/matmul/gpu_matmul_ref.h"

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

/*
 * The rates of matrix products in data sheets, by the name that CUDA gives a GPU.
 *
 * Dense rates at the highest boost clock, by matrix units if the type has them. Rates that data
 * sheets give only with sparsity are halved. Source: NVIDIA's data sheets of A100 (2022), H100
 * (2023), H100 NVL, H200 and H200 NVL (2024), H20, L4 and L40S (2023), HGX B200 (2025).
 */

/* TFLOP/s (1e12), TOP/s for int8; 0 = unknown, as for parts of a GPU (MIG). */
double gpu_peak_tflops(const char *name, enum matmul_type type);

#endif

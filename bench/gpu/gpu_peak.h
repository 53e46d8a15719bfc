/*
 * The rates of matrix products in data sheets, by the name that CUDA gives a GPU.
 *
 * Dense rates at the highest boost clock, by matrix units if the type has them. Rates that data
 * sheets give only with sparsity are halved. Source: NVIDIA's data sheets of A100 (2022), H100
 * (2023), H100 NVL, H200 and H200 NVL (2024), H20, L4 and L40S (2023), HGX B200 (2025).
 */
#ifndef CONTEND_BENCH_GPU_GPU_PEAK_H
#define CONTEND_BENCH_GPU_GPU_PEAK_H

#include "kernels/matmul/gpu_matmul_ref.h"

/* TFLOP/s (1e12), TOP/s for int8; 0 = unknown, as for parts of a GPU (MIG). */
double gpu_peak_tflops(const char *name, enum matmul_type type);

#endif

/*
 * A test of all GPUs' memory at once, for gpu_memory and for programs that run it beside other
 * load. Only in builds with CUDA. bench_open of bench_gpu_memory makes it as ctx->state.
 */
#ifndef CONTEND_BENCH_GPU_GPU_MEMORY_H
#define CONTEND_BENCH_GPU_GPU_MEMORY_H

#include "bench/gpu/gpu_set.h"

struct gpu_memory;

struct memory_test {
    struct gpu_set set;
    struct gpu_memory *gpu[GPU_SET_MAX];
    uint64_t seed, passes;       /* passes done on all GPUs in the set */
    double seconds[GPU_SET_MAX]; /* device time of all passes */
};

/* Runs a pass of the next pattern on each GPU in the set. A GPU that reads wrong leaves the set. */
void memory_test_pass(struct memory_test *t);

#endif

/*
 * A test of all GPUs' memory at once, for gpu_memory and what runs it beside other load. Only in
 * builds with CUDA. bench_open of bench_gpu_memory makes one as ctx->state.
 */
#ifndef CONTEND_BENCH_GPU_GPU_MEMORY_H
#define CONTEND_BENCH_GPU_GPU_MEMORY_H

#include "bench/gpu/gpu_set.h"

struct gpu_memory;

struct memory_test {
    struct gpu_set set;
    struct gpu_memory *gpu[GPU_SET_MAX];
    uint64_t seed, passes;       /* done, on all GPUs that are left */
    double seconds[GPU_SET_MAX]; /* of all passes, on the device */
};

/* A pass on each GPU that is left, of the next pattern. One that read wrong is out of the set. */
void memory_test_pass(struct memory_test *t);

#endif

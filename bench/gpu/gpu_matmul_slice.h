/*
 * A slice of gpu_matmul: products of one type on some GPUs at once, in batches that follow each
 * other without a gap, while their sensors are read. Only in builds with CUDA.
 *
 *   t->first = 0, t->end = 2, t->type = MATMUL_BF16;
 *   rc = matmul_slice_run(t, 0.5, err);      then products, seconds, average of gpus 0 and 1
 */
#ifndef CONTEND_BENCH_GPU_GPU_MATMUL_SLICE_H
#define CONTEND_BENCH_GPU_GPU_MATMUL_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/gpu/gpu_sensors.h"
#include "harness/base/err.h"
#include "kernels/matmul/gpu_matmul.h"

enum { MATMUL_GPUS = 64 };

struct matmul_gpu {
    struct gpu_matmul_device device;
    struct gpu_sensors sensors;
    struct gpu_matmul *of[MATMUL_TYPES]; /* NULL = left out */
    /* Of the slice that runs. */
    unsigned count;             /* products a batch */
    double products, seconds;   /* of the batches that count */
    struct gpu_average average; /* of its readings */
};

struct matmul {
    struct matmul_gpu gpus[MATMUL_GPUS];
    unsigned ngpus;
    size_t n;
    uint64_t seed;
    /* Of the slice that runs: GPUs first..end-1. */
    unsigned first, end, next_read;
    enum matmul_type type;
    uint64_t count_ns, end_ns, read_ns;
};

/* Whether the GPU has the slice's type. */
bool matmul_takes_part(const struct matmul *t, unsigned gpu);

/*
 * For about slice_s seconds, and at least a batch on each GPU of first..end-1 that takes part. The
 * first third warms up and is not counted.
 */
int matmul_slice_run(struct matmul *t, double slice_s, struct err *err);

#endif

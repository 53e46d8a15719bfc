/*
 * A slice of gpu_matmul: products of one type on one GPU or on all, in batches without a gap
 * between them, while sensors are read. Only in builds with cublasLt.h.
 *
 *   matmul_slice_run(t, MATMUL_BF16, 0, 0.5);       then t->gpus[0].result[MATMUL_BF16][false]
 */
#ifndef CONTEND_BENCH_GPU_GPU_MATMUL_SLICE_H
#define CONTEND_BENCH_GPU_GPU_MATMUL_SLICE_H

#include <stdint.h>

#include "bench/gpu/gpu_sensors.h"
#include "bench/gpu/gpu_set.h"
#include "kernels/matmul/gpu_matmul.h"

/* Results of the batches that count, and the average of the sensor readings during them. */
struct matmul_result {
    double products, seconds;
    struct gpu_average average;
};

struct matmul_gpu {
    struct gpu_matmul_device device;
    struct gpu_sensors sensors;
    struct gpu_matmul *of[MATMUL_TYPES]; /* NULL = left out */
    struct err absent[MATMUL_TYPES];     /* why a wanted type is left out; code 0 = it is not */
    struct matmul_result result[MATMUL_TYPES][2]; /* alone, with all */
    unsigned count;                               /* products a batch in the current slice */
};

struct matmul {
    struct gpu_set set;
    struct matmul_gpu gpus[GPU_SET_MAX];
    struct matmul_shape shape;
    unsigned ntypes; /* types that some GPU multiplies */
    uint64_t seed;
    /* The current slice. */
    enum matmul_type type;
    struct gpu_group group;
    unsigned next_read;
    uint64_t read_ns;
};

/*
 * Runs a group of gpu_groups(t->set.n) for about slice_s seconds, and at least a batch on each of
 * its GPUs that has the type. Fills their results. bench/gpu/gpu_set.h says which batches
 * count. Poisons all of C before and checks all of it after the slice. A GPU whose calls fail, or
 * that multiplies wrongly, leaves t->set: the results of the other GPUs are then invalid.
 */
void matmul_slice_run(struct matmul *t, enum matmul_type type, unsigned group, double slice_s);

#endif

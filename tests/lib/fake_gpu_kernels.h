/*
 * The kernels of kernels/gpu/ and kernels/matmul/ for GPUs that are made up: all work is done at
 * once and is right, but for what is told to fail. A GPU at "0000:0N:00.0" is number N.
 */
#ifndef CONTEND_TESTS_LIB_FAKE_GPU_KERNELS_H
#define CONTEND_TESTS_LIB_FAKE_GPU_KERNELS_H

#include "kernels/matmul/gpu_matmul_shape.h"

/*
 * From the `from`th call of that name on for that GPU (the first is 0), such as "gpu_stream_queue",
 * each returns rc, with "it broke" in msg. One trouble at a time, and its calls are counted anew;
 * call NULL = none.
 */
struct fake_trouble {
    const char *call;
    unsigned gpu, from;
    int rc;
};
void fake_gpu_set_trouble(const struct fake_trouble *trouble);

/* Calls of that name for that GPU since then. */
unsigned fake_gpu_calls(const char *call, unsigned gpu);

/* Of the product that was opened last. */
struct matmul_shape fake_gpu_matmul_shape(void);

#endif

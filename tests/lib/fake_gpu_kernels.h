/*
 * The kernels of kernels/gpu/ and kernels/matmul/ for made-up GPUs. All work is done at once and
 * its results are right, except for calls that a test tells to fail. The GPU at "0000:0N:00.0" is
 * number N.
 */
#ifndef CONTEND_TESTS_LIB_FAKE_GPU_KERNELS_H
#define CONTEND_TESTS_LIB_FAKE_GPU_KERNELS_H

#include "kernels/matmul/gpu_matmul_shape.h"

/*
 * From the `from`th call (counted from 0) of that name for that GPU, such as "gpu_stream_queue",
 * each call returns rc, with "it broke" in msg. Only one trouble at a time; setting one restarts
 * the count of its calls. call NULL = none.
 */
struct fake_trouble {
    const char *call;
    unsigned gpu, from;
    int rc;
};
void fake_gpu_set_trouble(const struct fake_trouble *trouble);

/* Calls of that name for that GPU since the trouble was set. */
unsigned fake_gpu_calls(const char *call, unsigned gpu);

/* The shape of the product that was opened last. */
struct matmul_shape fake_gpu_matmul_shape(void);

#endif

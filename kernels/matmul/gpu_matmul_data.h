/*
 * The matrices of gpu_matmul.h, entry by entry, equal on the CPU and the GPU: close to normal, mean
 * 0, variance 1. The data decides how many bits switch, and so the power that a matrix unit draws
 * and the clock that it keeps. Constant matrices give a rate that no real job reaches.
 *
 * An entry is the sum of four independent uniform numbers of 16 bits (Irwin-Hall), scaled by a
 * factor with a full mantissa and rounded once. No entry is above 3.47.
 */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_DATA_H
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_DATA_H

#include <stdint.h>

#include "kernels/cpu/mix64.h"

#ifdef __CUDACC__
#define MATMUL_SIDES __host__ __device__
#else
#define MATMUL_SIDES
#endif

/*
 * int8 stores entries times MATMUL_INT8_SCALE: at most 111. So no sum of up to MATMUL_K_MAX
 * products leaves int32, or equals four bytes of 0x80 there.
 */
enum { MATMUL_INT8_SCALE = 32, MATMUL_K_MAX = 65536 };

/* Entry i of matrix 0 or 1. The sum's mean is 2 (2^16 - 1), its deviation 2^16 / sqrt(3). */
static inline MATMUL_SIDES double matmul_value(uint64_t seed, unsigned matrix, uint64_t i)
{
    uint64_t hash = mix64(seed ^ mix64(2 * i + matrix));
    int64_t sum = (int64_t)((hash & 0xffff) + (hash >> 16 & 0xffff) + (hash >> 32 & 0xffff) +
                            (hash >> 48 & 0xffff));
    return (double)(sum - 0x1fffe) * (0.86602540378443865 / 32768.0);
}

#undef MATMUL_SIDES

#endif

/* Conversion of entries to and from the stored types, on the device; for .cu files. */
#ifndef CONTEND_KERNELS_MATMUL_GPU_MATMUL_ENTRIES_CUH
#define CONTEND_KERNELS_MATMUL_GPU_MATMUL_ENTRIES_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernels/matmul/gpu_matmul_data.h"

/* Stores an entry; matmul_stored does the same on the CPU. */
static __device__ inline void store(double *to, double value)
{
    *to = value;
}

static __device__ inline void store(float *to, double value)
{
    *to = (float)value;
}

static __device__ inline void store(__nv_bfloat16 *to, double value)
{
    *to = __float2bfloat16_rn((float)value);
}

static __device__ inline void store(__half *to, double value)
{
    *to = __float2half_rn((float)value);
}

static __device__ inline void store(__nv_fp8_storage_t *to, double value)
{
    *to = __nv_cvt_float_to_fp8((float)value, __NV_SATFINITE, __NV_E4M3);
}

static __device__ inline void store(signed char *to, double value)
{
    *to = (signed char)__double2int_rn(value * MATMUL_INT8_SCALE);
}

/* tf32 keeps 10 of float's 23 fraction bits. Entries are rounded here, so that it does not matter
 * what hardware does with the other bits. */
struct tf32 {
    float value;
};

static __device__ inline void store(struct tf32 *to, double value)
{
    unsigned bits = __float_as_uint((float)value);
    bits += 0xfffu + (bits >> 13 & 1);
    to->value = __uint_as_float(bits & ~0x1fffu);
}

static __device__ inline double load(double from)
{
    return from;
}

static __device__ inline double load(float from)
{
    return (double)from;
}

static __device__ inline double load(signed char from)
{
    return (double)from;
}

static __device__ inline double load(int from)
{
    return (double)from;
}

static __device__ inline double load(struct tf32 from)
{
    return (double)from.value;
}

static __device__ inline double load(__nv_bfloat16 from)
{
    return (double)__bfloat162float(from);
}

static __device__ inline double load(__half from)
{
    return (double)__half2float(from);
}

static __device__ inline double load(__nv_fp8_storage_t from)
{
    return (double)__half2float(__half(__nv_cvt_fp8_to_halfraw(from, __NV_E4M3)));
}

#endif

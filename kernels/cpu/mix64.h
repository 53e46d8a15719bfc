/* A hash that looks random: any thread computes the same data from an index, in any order. */
#ifndef CONTEND_KERNELS_CPU_MIX64_H
#define CONTEND_KERNELS_CPU_MIX64_H

#include <stdint.h>

#ifdef __CUDACC__
#define MIX64_ANYWHERE __host__ __device__
#else
#define MIX64_ANYWHERE
#endif

/* The output function of splitmix64 (Steele, Lea & Flood, OOPSLA 2014). */
static inline MIX64_ANYWHERE uint64_t mix64(uint64_t value)
{
    value += 0x9e3779b97f4a7c15ull;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
    return value ^ (value >> 31);
}

#undef MIX64_ANYWHERE

#endif

/* Random words from a recorded seed: splitmix64 (Steele, Lea and Flood 2014). PURE */
#ifndef CONTEND_LIB_RANDOM_H
#define CONTEND_LIB_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Returns one well-mixed word per call. Any seed works, also 0. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1). */
static inline double random_share(uint64_t *state)
{
    return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Fills order[] with a random permutation of 0..n-1 (Fisher-Yates). */
void random_shuffle(uint64_t seed, size_t n, size_t *order);

#endif

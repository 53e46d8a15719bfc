#include "kernels/cpu/busy.h"

#include <string.h>

#include "kernels/cpu/mix64.h"

#define FACTOR 6364136223846793005ull
#define SUMMAND 1442695040888963407ull

void busy_run(uint64_t chains[BUSY_CHAINS], uint64_t steps)
{
    uint64_t x[BUSY_CHAINS];
    memcpy(x, chains, sizeof(x));
    for (uint64_t step = 0; step < steps; step++) {
#pragma GCC unroll 8
        for (int c = 0; c < BUSY_CHAINS; c++) {
            x[c] = x[c] * FACTOR + SUMMAND;
            /* Keeps each chain in its own register: no vectorization, no folding of steps. */
            __asm__ volatile("" : "+r"(x[c]));
        }
    }
    memcpy(chains, x, sizeof(x));
}

/* The map x -> a x + c applied 2^k times is again such a map: square and multiply. */
uint64_t busy_expect(uint64_t start, uint64_t steps)
{
    uint64_t factor = FACTOR, summand = SUMMAND;
    for (; steps; steps >>= 1) {
        if (steps & 1)
            start = start * factor + summand;
        summand += factor * summand;
        factor *= factor;
    }
    return start;
}

void busy_begin(uint64_t chains[BUSY_CHAINS], uint64_t seed)
{
    for (unsigned c = 0; c < BUSY_CHAINS; c++)
        chains[c] = mix64(seed + c);
}

bool busy_is_right(const uint64_t chains[BUSY_CHAINS], uint64_t seed, uint64_t steps)
{
    bool right = true;
    for (unsigned c = 0; c < BUSY_CHAINS; c++)
        right &= chains[c] == busy_expect(mix64(seed + c), steps);
    return right;
}

/*
 * What collectives move when they are checked: small whole numbers that any rank can work out for
 * any other, and whose sums over ranks are exact in every type, in any order.
 *
 *   what rank r sends at element i of its send buffer, in repetition k
 *     where ranks' values are summed    collective_term(r, ranks, i, k)
 *     where they are only copied        collective_value(r, i, k, COLLECTIVE_SUM_MOST)
 *   the sum over all ranks              collective_sum(ranks, i, k)
 *
 * Sums stay within 120: int8 ends at 127, and bfloat16 counts without gaps to 256. Beyond 120 ranks
 * only every n-th rank adds something at an element, another set of ranks at the next.
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_VALUE_H
#define CONTEND_KERNELS_COLLECTIVE_VALUE_H

#include <stdint.h>

#ifdef __CUDACC__
#define COLLECTIVE_BOTH __host__ __device__
#else
#define COLLECTIVE_BOTH
#endif

enum { COLLECTIVE_SUM_MOST = 120 };

/* 0 .. most; the mixing is that of Murmur3's finaliser (A. Appleby, public domain). */
static COLLECTIVE_BOTH inline unsigned collective_value(unsigned rank, uint64_t index,
                                                        unsigned repetition, unsigned most)
{
    uint32_t mixed = (uint32_t)index ^ (uint32_t)(index >> 32) * 0x27d4eb2fu;
    mixed ^= rank * 0x9e3779b1u ^ repetition * 0x85ebca77u;
    mixed = (mixed ^ mixed >> 16) * 0x85ebca6bu;
    mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35u;
    mixed ^= mixed >> 16;
    return (unsigned)(mixed % (most + 1));
}

/* What rank `rank` of `ranks` gives to a sum. */
static COLLECTIVE_BOTH inline unsigned collective_term(unsigned rank, unsigned ranks,
                                                       uint64_t index, unsigned repetition)
{
    unsigned stride = (ranks + COLLECTIVE_SUM_MOST - 1) / COLLECTIVE_SUM_MOST;
    unsigned most = stride > 1 ? 1 : COLLECTIVE_SUM_MOST / ranks;
    if (stride > 1 && (rank + index) % stride != 0)
        return 0;
    return collective_value(rank, index, repetition, most);
}

static COLLECTIVE_BOTH inline unsigned collective_sum(unsigned ranks, uint64_t index,
                                                      unsigned repetition)
{
    unsigned sum = 0;
    for (unsigned rank = 0; rank < ranks; rank++)
        sum += collective_term(rank, ranks, index, repetition);
    return sum;
}

#undef COLLECTIVE_BOTH
#endif

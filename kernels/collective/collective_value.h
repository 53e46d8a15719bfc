/*
 * What collectives move when they are checked: small whole numbers that any rank can work out for
 * any other, and whose sums over ranks are exact in every type, in any order.
 *
 *   before   send[i] = collective_sent(call, rank, ranks, i, repetition)
 *   after    recv[i] = collective_expected(call, rank, ranks, i, repetition)
 *
 * for i below collective_send_count and collective_recv_count. Sums stay within 120: int8 ends at
 * 127, and bfloat16 counts without gaps to 256. Beyond 120 ranks only every n-th rank adds
 * something at an element, another set of ranks at the next.
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_VALUE_H
#define CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_VALUE_H

#include <stdint.h>

#include "kernels/collective/collective_call.h"

#ifdef __CUDACC__
#define COLLECTIVE_INLINE __host__ __device__ static inline
#else
#define COLLECTIVE_INLINE static inline
#endif

enum { COLLECTIVE_MOST = 120 };

/* 0 .. most; the mixing is that of Murmur3's finaliser (A. Appleby, public domain). */
COLLECTIVE_INLINE unsigned collective_value(unsigned rank, uint64_t index, unsigned repetition,
                                            unsigned most)
{
    uint32_t mixed = (uint32_t)index ^ ((uint32_t)(index >> 32) * 0x27d4eb2fu);
    mixed ^= (rank + 1) * 0x9e3779b1u ^ (repetition + 1) * 0x85ebca77u;
    mixed = (mixed ^ mixed >> 16) * 0x85ebca6bu;
    mixed = (mixed ^ mixed >> 13) * 0xc2b2ae35u;
    mixed ^= mixed >> 16;
    return (unsigned)(mixed % (most + 1));
}

/* What a rank gives to a sum over all ranks. */
COLLECTIVE_INLINE unsigned collective_term(unsigned rank, unsigned ranks, uint64_t index,
                                           unsigned repetition)
{
    unsigned stride = (ranks + COLLECTIVE_MOST - 1) / COLLECTIVE_MOST;
    if ((rank + index) % stride != 0)
        return 0;
    return collective_value(rank, index, repetition, stride > 1 ? 1 : COLLECTIVE_MOST / ranks);
}

COLLECTIVE_INLINE unsigned collective_sum(unsigned ranks, uint64_t index, unsigned repetition)
{
    unsigned sum = 0;
    for (unsigned rank = 0; rank < ranks; rank++)
        sum += collective_term(rank, ranks, index, repetition);
    return sum;
}

COLLECTIVE_INLINE unsigned collective_sent(const struct collective_call *call, unsigned rank,
                                           unsigned ranks, uint64_t index, unsigned repetition)
{
    if (call->op == COLLECTIVE_ALLREDUCE || call->op == COLLECTIVE_REDUCE ||
        call->op == COLLECTIVE_REDUCESCATTER)
        return collective_term(rank, ranks, index, repetition);
    return collective_value(rank, index, repetition, COLLECTIVE_MOST);
}

COLLECTIVE_INLINE unsigned collective_expected(const struct collective_call *call, unsigned rank,
                                               unsigned ranks, uint64_t index, unsigned repetition)
{
    uint64_t count = call->count;
    switch (call->op) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE:
        return collective_sum(ranks, index, repetition);
    case COLLECTIVE_REDUCESCATTER:
        return collective_sum(ranks, rank * count + index, repetition);
    case COLLECTIVE_ALLGATHER:
        return collective_value((unsigned)(index / count), index % count, repetition,
                                COLLECTIVE_MOST);
    case COLLECTIVE_BROADCAST:
        return collective_value(call->root, index, repetition, COLLECTIVE_MOST);
    case COLLECTIVE_ALLTOALL:
        return collective_value((unsigned)(index / count), rank * count + index % count, repetition,
                                COLLECTIVE_MOST);
    default: /* sendrecv */
        return collective_value((rank + ranks - 1) % ranks, index, repetition, COLLECTIVE_MOST);
    }
}

#undef COLLECTIVE_INLINE
#endif

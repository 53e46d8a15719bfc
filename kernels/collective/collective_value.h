/*
 * The data for checks of collectives: small integers that every rank can compute for every other
 * rank, and whose reduction over ranks is exact in every type and in any order.
 *
 *   before   send[i] = collective_sent(call, rank, ranks, i, repetition)
 *   after    recv[i] = collective_expected(call, rank, ranks, i, repetition)
 *
 * for i below collective_send_count and collective_recv_count; collective_is_wrong compares. Sums
 * and products stay within collective_most: int8 ends at 127; bfloat16 has all integers up to 256,
 * e4m3 up to 16 and e5m2 up to 8. With more ranks than collective_most, only every n-th rank adds
 * to an element of a sum, and a different set of ranks to the next element. Factors are 1 and 2. An
 * average is exact if the number of ranks is a power of two: NCCL multiplies by its inverse.
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

/* The largest number that is sent, or that a sum or product gives. */
COLLECTIVE_INLINE unsigned collective_most(enum collective_type type)
{
    return type == COLLECTIVE_F8E4M3 ? 16 : type == COLLECTIVE_F8E5M2 ? 8 : 120;
}

/* 0 .. most, by the finaliser of Murmur3 (A. Appleby, public domain). */
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

/* 1 or 2. Few enough ranks have a 2 for the product over all ranks to stay within `most`. */
COLLECTIVE_INLINE unsigned collective_factor(unsigned rank, unsigned ranks, uint64_t index,
                                             unsigned repetition, unsigned most)
{
    unsigned twos = most >= 64 ? 6 : most >= 16 ? 4 : 3;
    unsigned stride = (ranks + twos - 1) / twos;
    if ((rank + index) % stride != 0)
        return 1;
    return 1 + collective_value(rank, index, repetition, 1);
}

/* About 8 ranks have a random number: the minimum of many would always be 0, the maximum `most`. */
COLLECTIVE_INLINE unsigned collective_extreme(unsigned rank, unsigned ranks, uint64_t index,
                                              unsigned repetition, unsigned most, bool is_min)
{
    unsigned few = 8, stride = (ranks + few - 1) / few;
    if ((rank + index) % stride != 0)
        return is_min ? most : 0;
    return collective_value(rank, index, repetition, most);
}

/* A rank's term of a reduction over all ranks. */
COLLECTIVE_INLINE unsigned collective_term(const struct collective_call *call, unsigned rank,
                                           unsigned ranks, uint64_t index, unsigned repetition)
{
    unsigned most = collective_most(call->type), stride = (ranks + most - 1) / most;
    if (call->redop == COLLECTIVE_MIN || call->redop == COLLECTIVE_MAX)
        return collective_extreme(rank, ranks, index, repetition, most,
                                  call->redop == COLLECTIVE_MIN);
    if (call->redop == COLLECTIVE_PROD)
        return collective_factor(rank, ranks, index, repetition, most);
    if ((rank + index) % stride != 0)
        return 0;
    return collective_value(rank, index, repetition, stride > 1 ? 1 : most / ranks);
}

COLLECTIVE_INLINE bool collective_is_whole(enum collective_type type)
{
    return type == COLLECTIVE_INT8 || type == COLLECTIVE_INT32 || type == COLLECTIVE_INT64 ||
           type == COLLECTIVE_UINT8 || type == COLLECTIVE_UINT32 || type == COLLECTIVE_UINT64;
}

COLLECTIVE_INLINE double collective_reduced(const struct collective_call *call, unsigned ranks,
                                            uint64_t index, unsigned repetition)
{
    unsigned all = collective_term(call, 0, ranks, index, repetition);
    for (unsigned rank = 1; rank < ranks; rank++) {
        unsigned one = collective_term(call, rank, ranks, index, repetition);
        if (call->redop == COLLECTIVE_MIN)
            all = one < all ? one : all;
        else if (call->redop == COLLECTIVE_MAX)
            all = one > all ? one : all;
        else
            all = call->redop == COLLECTIVE_PROD ? all * one : all + one;
    }
    double average = (double)all / ranks;
    if (call->redop != COLLECTIVE_AVG)
        return all;
    return collective_is_whole(call->type) ? (unsigned)average : average;
}

COLLECTIVE_INLINE unsigned collective_sent(const struct collective_call *call, unsigned rank,
                                           unsigned ranks, uint64_t index, unsigned repetition)
{
    if (call->op == COLLECTIVE_ALLREDUCE || call->op == COLLECTIVE_REDUCE ||
        call->op == COLLECTIVE_REDUCESCATTER)
        return collective_term(call, rank, ranks, index, repetition);
    return collective_value(rank, index, repetition, collective_most(call->type));
}

COLLECTIVE_INLINE double collective_expected(const struct collective_call *call, unsigned rank,
                                             unsigned ranks, uint64_t index, unsigned repetition)
{
    uint64_t count = call->count;
    unsigned most = collective_most(call->type);
    switch (call->op) {
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE:
        return collective_reduced(call, ranks, index, repetition);
    case COLLECTIVE_REDUCESCATTER:
        return collective_reduced(call, ranks, rank * count + index, repetition);
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_GATHER:
        return collective_value((unsigned)(index / count), index % count, repetition, most);
    case COLLECTIVE_BROADCAST:
        return collective_value(call->root, index, repetition, most);
    case COLLECTIVE_SCATTER:
        return collective_value(call->root, rank * count + index, repetition, most);
    case COLLECTIVE_ALLTOALL:
        return collective_value((unsigned)(index / count), rank * count + index % count, repetition,
                                most);
    default: /* sendrecv */
        return collective_value((rank + ranks - 1) % ranks, index, repetition, most);
    }
}

/* The distance from 1 to the next larger number of the type. */
COLLECTIVE_INLINE double collective_step(enum collective_type type)
{
    switch (type) {
    case COLLECTIVE_HALF:
        return 1.0 / (1 << 10);
    case COLLECTIVE_BFLOAT16:
        return 1.0 / (1 << 7);
    case COLLECTIVE_FLOAT:
        return 1.0 / (1 << 23);
    case COLLECTIVE_F8E4M3:
        return 1.0 / (1 << 3);
    case COLLECTIVE_F8E5M2:
        return 1.0 / (1 << 2);
    default:
        return 1.0 / (1ull << 52);
    }
}

/* NaN is wrong. An average that cannot be exact may be off by one step per rank. */
COLLECTIVE_INLINE bool collective_is_wrong(const struct collective_call *call, unsigned ranks,
                                           double got, double want)
{
    bool is_rounded = call->redop == COLLECTIVE_AVG && (ranks & (ranks - 1)) != 0 &&
                      !collective_is_whole(call->type);
    double off = got > want ? got - want : want - got;
    return !(off <= (is_rounded ? ranks * collective_step(call->type) * want : 0));
}

#undef COLLECTIVE_INLINE
#endif

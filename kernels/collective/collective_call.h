/*
 * Describes one collective operation, the same for every engine, and the contents of its buffers.
 *
 * If an operation has a part for each rank (all-gather, reduce-scatter, all-to-all, gather,
 * scatter), `count` is that of one part, and the whole buffer has ranks * count elements.
 *
 *   op             send buffer     recv buffer     in place means
 *   allreduce      count           count           send = recv
 *   allgather      count           ranks * count   send = recv + rank * count
 *   reducescatter  ranks * count   count           recv = send + rank * count
 *   broadcast      count (root's)  count           send = recv
 *   reduce         count           count (root's)  send = recv
 *   alltoall       ranks * count   ranks * count   never
 *   sendrecv       count           count           never
 *   gather         count           ranks * count (root's)   send = recv + rank * count
 *   scatter        ranks * count (root's)   count           recv = send + rank * count
 *
 * Source: the definitions of NCCL's user guide ("Collective Operations", "In-place Operations").
 */
#ifndef CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_CALL_H
#define CONTEND_KERNELS_COLLECTIVE_COLLECTIVE_CALL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the order of the parameter `op`. */
enum collective_op {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCESCATTER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_SENDRECV, /* in a ring: to rank + 1, from rank - 1 */
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_OPS,
};

/* In the order of the parameter `redop`: what reductions do. */
enum collective_redop {
    COLLECTIVE_SUM,
    COLLECTIVE_PROD,
    COLLECTIVE_MIN,
    COLLECTIVE_MAX,
    COLLECTIVE_AVG, /* rounded down for integers */
    COLLECTIVE_REDOPS,
};

/* In the order of the parameter `type`. */
enum collective_type {
    COLLECTIVE_INT8,
    COLLECTIVE_INT32,
    COLLECTIVE_INT64,
    COLLECTIVE_HALF,
    COLLECTIVE_BFLOAT16,
    COLLECTIVE_FLOAT,
    COLLECTIVE_DOUBLE,
    COLLECTIVE_UINT8,
    COLLECTIVE_UINT32,
    COLLECTIVE_UINT64,
    COLLECTIVE_F8E4M3, /* 4 bits of exponent, 3 of mantissa */
    COLLECTIVE_F8E5M2,
    COLLECTIVE_TYPES,
};

struct collective_call {
    enum collective_op op;
    enum collective_type type;
    enum collective_redop redop;
    bool in_place;
    bool graph;     /* capture a batch once, then replay it; NCCL only */
    unsigned queue; /* operations between waits; 0 = wait after the last. MPI waits for each */
    unsigned root;  /* of broadcast, reduce, gather and scatter */
    size_t count;   /* > 0 */
    size_t bytes;   /* of the larger of the two buffers: METHOD.md's S */
};

/* The size of one element. */
size_t collective_type_bytes(enum collective_type type);

/* By the table above: has a part for each rank; reduces values; can be done in place. */
bool collective_has_parts(enum collective_op op);
bool collective_is_reduced(enum collective_op op);
bool collective_has_in_place(enum collective_op op);

/* Elements that rank `rank` sends, and elements of its recv buffer that the operation defines. */
size_t collective_send_count(const struct collective_call *call, unsigned ranks, unsigned rank);
size_t collective_recv_count(const struct collective_call *call, unsigned ranks, unsigned rank);

/* NCCL's name, "AllReduce"; NULL: an operation without its own call in NCCL before 2.28. */
const char *collective_func_name(enum collective_op op);

#ifdef __cplusplus
}
#endif

#endif

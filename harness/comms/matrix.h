/*
 * The matrix of a communicator: how many bytes each rank sent to each rank. Pure.
 *
 * Each rank's row comes from the work that the rank itself enqueued. With n ranks and S bytes in a
 * call (all-reduce: the buffer; all-gather and reduce-scatter: the part of one rank), a rank sends,
 * by algorithm:
 *
 *   ring, next = the next rank in the ring
 *     all-reduce       2 S (n-1) / n to next          broadcast  S to next, if next is not the root
 *     all-gather       S (n-1) to next                reduce     S to next, from all but the root
 *     reduce-scatter   S (n-1) to next
 *   tree, all-reduce   S to the parent and S to each child, in two trees with half of S each
 *   copy engine, one node: all-gather and all-to-all S to each other rank; gather S to the root;
 *     scatter S from the root to each other rank
 *   point to point     S to the peer
 *
 * Sources: METHOD.md, "Communication matrix"; NVIDIA, nccl-tests, doc/PERFORMANCE.md (factors of
 * bus bandwidth); NCCL 2.30, src/device/all_reduce.h, all_gather.h, reduce_scatter.h, broadcast.h,
 * device.h (who sends in which step), src/graph/trees.cc and connect.cc (trees), src/ce_coll.cc
 * (copy engines). These bytes exclude what protocols add on the wire (LL sends a flag with every 4
 * bytes). NVLS and CollNet reduce in switches, and PAT's peers depend on its schedule: both count
 * as unknown.
 *
 * 2 S (n-1) / n may not be whole: the n edges of a ring together have exactly 2 S (n-1), and differ
 * by one byte at most.
 *
 * `wire` has the bytes that NVLink carries: LL stores 4 bytes of flags with every 4 of data, LL128
 * 8 with every 120 (NCCL 2.28, src/include/device.h, union ncclLLFifoLine and
 * NCCL_LL128_DATAELEMS), and SIMPLE none. NCCL does not report the protocol of sends: `wire` has
 * them without flags, and `flags` has what LL may add to sends of up to 16 KiB for each of up to 64
 * channels (NCCL 2.28, src/enqueue.cc, addP2pToPlan: NCCL_P2P_LL_THRESHOLD times the channels to a
 * peer, which NCCL does not report).
 */
#ifndef CONTEND_COMMS_MATRIX_H
#define CONTEND_COMMS_MATRIX_H

#include "harness/comms/plugin/read.h"

struct comms_communicator;

/* How sure the pairs are; for several, that of the least sure. */
enum comms_how {
    COMMS_EXACT,     /* reported by NCCL, or only one way is possible */
    COMMS_FROM_NCCL, /* rings in an order that NCCL reported */
    COMMS_MODELLED   /* rings and trees in the order of ranks */
};

/* "exact", "order from NCCL" or "modelled". */
const char *comms_how_name(enum comms_how how);

enum { COMMS_MATRIX_RANKS = 2048 };

struct comms_matrix {
    uint32_t n;
    uint64_t *bytes, *calls; /* [from * n + to]; owned. To oneself: copied within a GPU */
    uint64_t *wire;          /* bytes with the flags of protocols */
    uint64_t *flags;         /* bytes of flags that small sends may add */
    enum comms_how how;
    bool trees;                            /* some traffic went along trees */
    uint64_t unknown_calls, unknown_bytes; /* as called, over all ranks, of unknown pairs */
};

/* Errors: -ENOMEM; -E2BIG: more ranks than COMMS_MATRIX_RANKS; -EOVERFLOW. */
int comms_matrix_make(const struct comms_communicator *communicator, struct comms_matrix *matrix,
                      struct err *err);
/* Zeroed cells for matrix->n ranks; false: no memory. Free it in any case. */
bool comms_matrix_alloc(struct comms_matrix *matrix);
void comms_matrix_free(struct comms_matrix *matrix);

/* The neighbours of a rank in one of NCCL's two trees; -1 = none. */
struct comms_tree {
    int64_t parent, child[3];
};

/* `second`: the second of the two trees. Each node has a block of nranks / nodes ranks, which form
 * a chain below the first rank of the block. */
struct comms_tree comms_tree_of(uint32_t rank, uint32_t nranks, uint32_t nodes, bool second);

#endif

/*
 * What the way in which a program communicates costs it, as findings with evidence and what to do:
 * many small calls, uneven ranks, uneven peers. Pure.
 *
 * Where the limit of "small" comes from. A call costs about a latency and a time by its size, T = L
 * + S / B (Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994; Thakur,
 * Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
 * 19, 2005). Below the size at which both parts are equal, n_1/2 = L * B, the knee, a call is
 * mostly latency. It is worked out of the calls that were timed, L of the fastest of small size and
 * B of the best rate. Where too few sizes were timed, it is COMMS_SMALL_BYTES: below some 64 KiB
 * NCCL's protocols of low latency are ahead of the one of bandwidth between nodes (Hu et al.,
 * "Demystifying NCCL", arXiv 2507.04786, 2025); in a node the knee is higher. PyTorch joins
 * gradients into buckets of 25 MiB for that reason (Li et al., "PyTorch Distributed", VLDB 13,
 * 2020), and is far above.
 */
#ifndef CONTEND_COMMS_FINDINGS_USAGE_H
#define CONTEND_COMMS_FINDINGS_USAGE_H

#include "harness/comms/view/timeline.h"
#include "harness/contract/finding.h"

enum {
    COMMS_SMALL_BYTES = 65536,
    COMMS_SMALL_CALLS = 1000,    /* fewer are setup and barriers, which every program has */
    COMMS_UNEVEN_BYTES = 1 << 26 /* less sent by all ranks together is no load */
};

/* What is judged of one collective of a communicator. */
struct comms_knee {
    double latency_s, rate; /* of a call, bytes/s; NaN = not timed */
    double bytes;           /* below it a call is small */
};
struct comms_knee comms_knee_of(const struct comms_communicator *communicator, uint32_t func);

/* Appends them. -ENOMEM only. */
int comms_usage_judge(const struct comms *comms, const struct comms_timeline *timeline,
                      struct findings *findings, struct err *err);

#endif

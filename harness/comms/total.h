/*
 * The traffic of all communicators together, from GPU to GPU. Pure.
 *
 * A rank's log names its GPU by host and PCI address. If the address is unknown, a process has one
 * GPU; if it has several ranks of one communicator, it has as many GPUs, numbered in the order of
 * those ranks. A rank without a log is a separate GPU in each communicator.
 */
#ifndef CONTEND_COMMS_TOTAL_H
#define CONTEND_COMMS_TOTAL_H

#include "harness/comms/merge.h"

struct comms_gpu {
    const struct comms_log *log; /* of its process, or its first process; NULL: no log is here */
    char pci[PCI_BDF_MAX];       /* "" = unknown */
    uint32_t slot;               /* if pci is unknown: index among the GPUs of its process */
    size_t communicator;         /* in which it was seen first */
    uint32_t rank;               /* its rank there */
    size_t ranks;                /* of all communicators */
};

struct comms_total {
    struct comms_matrix matrix; /* matrix.n GPUs */
    struct comms_gpu *gpu;      /* owned, in the order of communicators and ranks */
    size_t ncommunicators;
    uint32_t **gpu_of; /* owned: [communicator][rank] -> GPU, or COMMS_NO_GPU; [communicator] NULL:
                          left out */
    size_t left_out;   /* communicators that are too large for a matrix */
    bool assumed;      /* the order of ranks decided which GPUs of communicators are the same */
};

enum { COMMS_NO_GPU = UINT32_MAX };

/* -ENOMEM; -EOVERFLOW; -E2BIG: more GPUs than COMMS_MATRIX_RANKS. Borrows the communicators. */
int comms_total_make(const struct comms *comms, struct comms_total *total, struct err *err);
void comms_total_free(struct comms_total *total);

/*
 * "node1, GPU 0000:3b:00.0, process 77 (python)", without an address its number in the process; or
 * "rank 3 of communicator 1, without a log".
 */
const char *comms_call_gpu(const struct comms_gpu *gpu);

/* The logarithm for a scale by powers of ten; NaN for 0. */
double comms_log10(uint64_t value);

#endif

/*
 * Checks the matrices against the hardware: what each GPU should have sent and received over NVLink
 * by the calls that NCCL reported, with the flags of protocols (matrix.h), and what NVLink's
 * counters say.
 *
 * Only traffic between two known GPUs of one machine is compared. Counters include all that the GPU
 * did meanwhile. If they count more, NCCL's calls do not explain it: device-side calls, copies
 * between GPUs, CUDA graphs, algorithms of unknown pairs, other processes. If they count less,
 * calls took another path (PCIe, shared memory, NVLink's own reductions), or the model is wrong.
 * Small sends may have as many flags as data, or none: counts up to that sum are explained.
 */
#ifndef CONTEND_COMMS_NVLINK_CHECK_H
#define CONTEND_COMMS_NVLINK_CHECK_H

#include "harness/comms/plugin/counters.h"
#include "harness/comms/total.h"
#include "harness/lib/finding.h"

/* Bytes of one GPU or of all: by calls, possible flags of small sends, and as counted. */
struct comms_nvlink_check_sum {
    uint64_t sent, received, flags, received_flags, counted_sent, counted_received;
};

struct comms_nvlink_check_gpu {
    const char *host, *pci; /* borrowed */
    struct comms_nvlink_check_sum sum;
    size_t ranks; /* of all communicators */
};

/* Zeroed = there were no counters. */
struct comms_nvlink_check {
    size_t n;
    struct comms_nvlink_check_gpu *gpu; /* owned */
    uint64_t elsewhere;                 /* bytes of pairs that are not compared */
    size_t left_out;                    /* communicators that are too large for a matrix */
};

/* Borrows the counters. Free it also after an error: -ENOMEM, -EOVERFLOW. */
int comms_nvlink_check_make(const struct comms_total *total, const struct comms_counters *counters,
                            struct comms_nvlink_check *nvlink_check, struct err *err);
void comms_nvlink_check_free(struct comms_nvlink_check *nvlink_check);

/* NULL: that GPU was not counted. */
struct comms_nvlink_check_gpu *
comms_nvlink_check_find(const struct comms_nvlink_check *nvlink_check, const char *host,
                        const char *pci);

struct comms_nvlink_check_sum comms_nvlink_check_all(const struct comms_nvlink_check *nvlink_check);

/* Reports comms_unexplained and comms_not_counted, each for the GPU with the largest difference, if
 * that is above 1% plus 1 MiB. Errors: -ENOMEM only. */
int comms_nvlink_check_judge(const struct comms_nvlink_check *nvlink_check,
                             struct findings *findings, struct err *err);

#endif

/* Everything that is derived from a directory of logs, for tables, files, figures and pages. */
#ifndef CONTEND_COMMS_VIEW_H
#define CONTEND_COMMS_VIEW_H

#include "harness/comms/plugin/counters.h"
#include "harness/comms/total.h"
#include "harness/lib/finding.h"

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

struct comms_nvlink_check_sum comms_nvlink_check_all(const struct comms_nvlink_check *nvlink_check);

struct comms_view {
    struct comms_logs logs;
    struct comms comms;
    struct comms_total total;       /* empty if total_note says why */
    char total_note[96];            /* "" = there is a total */
    struct comms_counters counters; /* of NVLink; none if they were not read */
    struct comms_nvlink_check nvlink_check;
    struct comms_timeline timeline;
    struct comms_ports ports; /* from links.csv; none without that file */
    struct comms_links links;
    struct comms_unread unread; /* files that were left out; findings name them */
    struct findings findings;
};

/*
 * Free with comms_view_free, also after an error. A directory without logs is no error:
 * view->logs.n is 0. Files that cannot be read are left out, unless no log remains. Errors:
 * -ENOMEM, -EOVERFLOW; with *refused, the reason why no log can be read.
 */
int comms_view_read(const char *directory, double last_s, struct comms_view *view, bool *refused,
                    struct err *err);

/* Fills the rest of a view that has its logs, ports and counters. `directory` has the orders of
 * rings; NULL: without them. Errors: -ENOMEM, -EOVERFLOW. */
int comms_view_make(const char *directory, struct comms_view *view, struct err *err);
void comms_view_free(struct comms_view *view);

#endif

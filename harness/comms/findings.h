/* Findings about the logs of a command: missing, uneven, unreported or unknown calls. */
#ifndef CONTEND_COMMS_FINDINGS_H
#define CONTEND_COMMS_FINDINGS_H

#include "harness/comms/plugin/counters.h"
#include "harness/comms/total.h"
#include "harness/lib/finding.h"

void comms_judge(const struct comms_logs *logs, const struct comms *comms,
                 struct findings *findings);

/* "communicator 2 (dp, 0000000000001a2b)", its name in all output; `at` counts from 0.
 */
const char *comms_call_communicator(const struct comms_communicator *communicator, size_t at);

/* ---- usage.c ---- */

/*
 * Findings about costly communication, with evidence and advice: many small calls, uneven ranks,
 * uneven peers. Pure.
 *
 * The limit of "small": a call takes about T = L + S / B, a latency plus a time for its size
 * (Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994; Thakur,
 * Rabenseifner and Gropp, "Optimization of collective communication operations in MPICH", IJHPCA
 * 19, 2005). Both parts are equal at the size n_1/2 = L * B, the knee; below it a call is mostly
 * latency. The knee comes from timed calls: L is the shortest mean time, B the best rate. If too
 * few sizes were timed, the knee is COMMS_SMALL_BYTES: below about 64 KiB, NCCL's low-latency
 * protocols are faster between nodes than its bandwidth protocol (Hu et al., "Demystifying NCCL",
 * arXiv 2507.04786, 2025). Within a node the knee is higher. PyTorch joins gradients into buckets
 * of 25 MiB for that reason (Li et al., "PyTorch Distributed", VLDB 13, 2020), far above the knee.
 */
enum {
    COMMS_SMALL_BYTES = 65536,
    COMMS_SMALL_CALLS = 1000,    /* fewer are setup and barriers, which every program has */
    COMMS_UNEVEN_BYTES = 1 << 26 /* if all ranks together send less, it is no load */
};

/* The cost of one collective of a communicator. */
struct comms_knee {
    double latency_s, rate; /* of a call, bytes/s; NaN = not timed */
    double bytes;           /* below it a call is small */
};
struct comms_knee comms_knee_of(const struct comms_communicator *communicator, uint32_t func);

void comms_usage_judge(const struct comms *comms, const struct comms_timeline *timeline,
                       struct findings *findings);

/* ---- view.c ---- */

/*
 * Files of the same boot_id are of one machine, which may have another name in each container.
 * Without a boot_id, files of the same name are of one machine. Pure.
 */
/* NULL: there are no such files. */
struct comms_hosts {
    struct comms_logs *logs;
    struct comms_counters *counters;
    struct comms_ports *ports; /* these have no boot_id */
};

/*
 * Renames hosts in all files, so that each machine has one name of its own. Further machines of the
 * same name become NAME#2 and so on; a machine with several names gets the first. Reports
 * comms_one_machine and comms_same_name. Errors: -ENOMEM only.
 */
int comms_hosts_settle(const struct comms_hosts *hosts, struct findings *findings, struct err *err);

#endif

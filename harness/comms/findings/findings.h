/* Findings about the logs of a command: missing, uneven, unreported or unknown calls. */
#ifndef CONTEND_COMMS_FINDINGS_FINDINGS_H
#define CONTEND_COMMS_FINDINGS_FINDINGS_H

#include "harness/comms/logs/counters.h"
#include "harness/comms/view/links.h"
#include "harness/contract/finding.h"

/* -ENOMEM only. */
int comms_judge(const struct comms_logs *logs, const struct comms *comms, struct findings *findings,
                struct err *err);

/* "communicator 2 (\"dp\", 1a2b)": how it is called everywhere; `at` from 0. Returns buf. */
char *comms_call_communicator(const struct comms_communicator *communicator, size_t at, char *buf,
                              size_t size);

/* ---- usage.c ---- */

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
enum {
    COMMS_SMALL_BYTES = 65536,
    COMMS_SMALL_CALLS = 1000,    /* fewer are setup and barriers, which every program has */
    COMMS_UNEVEN_BYTES = 1 << 26 /* less sent by all ranks together is no load */
};

/* The figures of one collective of a communicator that are judged. */
struct comms_knee {
    double latency_s, rate; /* of a call, bytes/s; NaN = not timed */
    double bytes;           /* below it a call is small */
};
struct comms_knee comms_knee_of(const struct comms_communicator *communicator, uint32_t func);

/* Appends them. -ENOMEM only. */
int comms_usage_judge(const struct comms *comms, const struct comms_timeline *timeline,
                      struct findings *findings, struct err *err);

/* ---- hosts.c ---- */

/*
 * Which of the files are of one machine: those of the same boot_id, whatever the machine calls
 * itself in each container; without it, those of one name. Pure.
 */
/* NULL: there are none of these. */
struct comms_hosts {
    struct comms_logs *logs;
    struct comms_counters *counters;
    struct comms_ports *ports; /* they have names alone */
};

/*
 * Changes the names of hosts in all of them, so that one machine has one name and two have two:
 * machines behind the first of a name are NAME#2 and so on, and a machine of several names has the
 * first. Finds comms_one_machine and comms_same_name. -ENOMEM only.
 */
int comms_hosts_settle(const struct comms_hosts *hosts, struct findings *findings, struct err *err);

#endif

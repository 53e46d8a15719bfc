/*
 * What NCCL told the plugin against what the program knows it called (contract/made.h): the
 * plugin's test of truth, exact in calls and bytes. Pure.
 */
#ifndef CONTEND_COMMS_FINDINGS_CHECK_H
#define CONTEND_COMMS_FINDINGS_CHECK_H

#include "harness/comms/logs/read.h"
#include "harness/contract/finding.h"
#include "harness/contract/made.h"

/* Sums over all that was compared. Zeroed = nothing. */
struct comms_checked {
    uint64_t processes, calls, bytes;
    uint64_t differ; /* functions of processes of which calls or bytes differ */
};

/*
 * The process `pid`, by its own count and by its log. Interfaces from 5 on tell the calls
 * themselves, those before only NCCL's work of them. Adds findings about `subject`, of each kind
 * the first:
 *   comms_no_log    it has called NCCL, which has not loaded the plugin
 *   comms_differs   calls or bytes are not the same
 *   comms_no_work   of calls that are the same NCCL tells less work: matrices lack the rest
 *   comms_graphs    calls captured in graphs, which are not compared
 * -ENOMEM only.
 */
int comms_check(const struct comms_logs *logs, int64_t pid, const struct made *made,
                const char *subject, struct comms_checked *sum, struct findings *findings,
                struct err *err);

/* "comms_equal", where everything was compared and is the same; nothing where nothing was. */
int comms_check_end(const struct comms_checked *sum, struct findings *findings, struct err *err);

#endif

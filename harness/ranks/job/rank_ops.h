/*
 * Implements the rank operations of a run (engine/arms/rank_ops.h) for the ranks of a job.
 *
 * While ranks observe an arm, their parents exchange reports, a few dozen a second
 * and at once when a worker changes its state. Decisions depend only on the last exchanged reports,
 * which are the same in all ranks, so all ranks decide alike. The parents also complete the
 * barriers of the foreground workers (engine/worker/barrier.h, relay). Between reports the parents
 * sleep: they must not take CPUs from the workers.
 */
#ifndef CONTEND_RANKS_JOB_RANK_OPS_H
#define CONTEND_RANKS_JOB_RANK_OPS_H

#include "harness/engine/arms/rank_ops.h"
#include "harness/engine/worker/barrier.h"
#include "harness/ranks/job/job.h"

struct job_rank_ops {
    struct rank_ops rank_ops;
    struct job *job;

    /* The current observation. */
    struct barrier *barrier;
    struct rank_ops_report mine;
    struct rank_ops_report *reports; /* of the last exchange; zeroed = no exchange yet */
    struct rank_ops_report *next;    /* of the current exchange */
    bool under_way, idle;
    uint64_t begun_ns, next_ns;
    uint32_t completed; /* completed barriers */
};

/* Borrows the job, and must not be moved afterwards. */
void job_rank_ops_make(struct job_rank_ops *rank_ops, struct job *job);

#endif

/*
 * The ranks of a job as the rank operations of a run (engine/arms/rank_ops.h).
 *
 * While they observe one arm, their parents exchange beats, a few dozen a second and at once when a
 * worker has news; every decision is taken from the last exchanged beats, which are the same in all
 * ranks, so that all take the same. The barriers of the foreground workers
 * (engine/worker/barrier.h, relay) are held on the way. Between beats the parents sleep: they must
 * not take CPUs from what is measured.
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
    struct rank_ops_beat mine;
    struct rank_ops_beat *beats; /* of the last exchange; zeroed = nobody has come anywhere */
    struct rank_ops_beat *next;  /* of the one under way */
    bool under_way, idle;
    uint64_t begun_ns, next_ns;
    uint32_t held; /* barriers */
};

/* Borrows the job, and must not be moved afterwards. */
void job_rank_ops_make(struct job_rank_ops *rank_ops, struct job *job);

#endif

/*
 * The steps of a worker: warm-up, first steps that do not count, measured steps, and load while
 * others measure. Only worker.c uses this: it decides when each of these begins. All return 0 or
 * -errno.
 */
#ifndef CONTEND_ENGINE_WORKER_STEPS_H
#define CONTEND_ENGINE_WORKER_STEPS_H

#include "harness/engine/contract/bench.h"
#include "harness/engine/contract/peers.h"
#include "harness/engine/worker/shared.h"
#include "harness/engine/worker/usage.h"

/* What is the worker's own; what its parent reads is in `slot`. */
struct worker {
    struct command_orders command_orders;
    struct shared *shared;
    struct shared_worker *slot;
    const struct bench *bench;
    struct bench_ctx ctx;
    struct bench_machine machine; /* only the CPUs that this worker is bound to */
    struct barrier_rank barrier_rank;
    struct peers peers;
    const struct mpi_ops *mpi; /* not NULL: a thread of the rank's process */
    bool is_cold;              /* the first step is a warm-up: its kept server was just started */
    struct perf perf;
    struct stage_clock stages;
    double stage_ns;  /* shortest mean time between clock reads in an uncounted step */
    uint64_t iters;   /* per sample, so that the cost of the clock stays small */
    uint64_t step_ns; /* time of the latest sample */
};

/*
 * Uncounted steps, for thread teams, page faults, lazy loading and clock frequencies. Also finds
 * how many iterations make an interval long enough for the clock and for the sample buffer.
 */
int steps_warm_up(struct worker *w);

/* Whole runs are warmed up only if the user asks for it, or a kept server is new; they are long
 * enough for any clock. */
int steps_warm_up_one_shot(struct worker *w);

/*
 * Contention begins at go, and the first steps differ from later ones: sleeping teams wake up, and
 * workers that warmed up alone meet. So steps do not count until settle_s have passed, at least one
 * step. Coupled ranks do as many as rank 0. Scans and whole runs wait this long, without steps.
 */
int steps_settle(struct worker *w);

/* Measured steps until the budget is spent, and what the worker used meanwhile. */
int steps_measure(struct worker *w);

/* Keeps up the load until all other workers have measured. */
int steps_keep_load(struct worker *w);

#endif

/*
 * How ranks that meet in every step agree on the last step without a barrier. A barrier between
 * steps would align the ranks and hide which ranks enter the next step late.
 *
 * Rank 0 decides before it begins a step whether that step is the last; all ranks ask after the
 * step. All get the same answer: no rank ends a step before rank 0 has entered it.
 *
 *   for (uint64_t step = 1;; step++) {
 *       if (rank == 0 && it is enough)
 *           step_limit_end_with(step_limit, step);
 *       run a step in which all ranks meet;
 *       if (step_limit_ends(step_limit, step))
 *           break;
 *   }
 */
#ifndef CONTEND_ENGINE_WORKER_STEP_LIMIT_H
#define CONTEND_ENGINE_WORKER_STEP_LIMIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In shared memory; zeroed = not decided. */
struct step_limit {
    _Atomic uint64_t last; /* 0 = not decided */
};

/* Rank 0, before it begins step `step` (from 1 on). */
static inline void step_limit_end_with(struct step_limit *step_limit, uint64_t step)
{
    atomic_store(&step_limit->last, step);
}

/* Any rank, after step `step`. */
static inline bool step_limit_ends(const struct step_limit *step_limit, uint64_t step)
{
    return atomic_load(&step_limit->last) == step;
}

#endif

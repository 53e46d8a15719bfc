/*
 * Rounds: every arm once a round, in a recorded random order, each with freshly launched processes
 * (METHOD 1 and 2).
 */
#ifndef CONTEND_ENGINE_RUN_RUN_H
#define CONTEND_ENGINE_RUN_RUN_H

#include <stdbool.h>

#include "harness/engine/arms/result.h"
#include "harness/engine/run/observe.h"
#include "harness/lib/base/err.h"

/* Calls while it runs. Each may be NULL. */
struct run_hooks {
    void (*on_arm)(void *arg, const struct arm *arm, unsigned round, size_t done, size_t total);
    /* An arm that was just observed, before that. A negative errno ends the run. */
    int (*on_observation)(void *arg, const struct arm *arm, const struct observation *observation,
                          struct err *err);
    /* After each arm: it may set `idle` of those that are still to come in the round, too. */
    void (*after_arm)(void *arg);
    /*
     * After a whole round: write what there is. A negative errno ends the run. It may change
     * rounds_planned, add arms, and set or clear `idle` of those that are there.
     */
    int (*on_round)(void *arg, unsigned round, struct err *err);
    void *arg;
};

/*
 * Appends one observation per arm and round to `result`. -EINTR: a signal asked to stop; the
 * observations of the unfinished round are dropped, so that every arm has the same rounds. A round
 * in which the program was stopped (Ctrl-Z) is measured again. Where rounds take longer than their
 * time, fewer than planned are measured, and rounds_planned then says so; of a run that ends when
 * it is clear it says after each round whether there is time for another. It goes on behind
 * rounds_done, whose observations are there.
 */
int run_rounds(const struct observe_config *config, const struct run_hooks *hooks,
               struct signals *signals, struct result *result, struct err *err);

/* An empty one behind the others of the arm; NULL: no memory. */
struct observation *run_add_observation(struct arm *arm, struct err *err);

/* Takes back that round and those behind it: one that is not whole, or could not be written. */
void run_drop_round(struct result *result, unsigned round);

/* False where no arm, baselines included, has a single round that can be used. */
bool run_measured_anything(const struct result *result);

#endif

/*
 * Rounds: every arm once a round, in a recorded random order, each with freshly launched processes
 * (docs/method.md).
 */
#ifndef CONTEND_ENGINE_RUN_H
#define CONTEND_ENGINE_RUN_H

#include <stdbool.h>

#include "harness/engine/observe.h"
#include "harness/engine/result.h"
#include "harness/lib/err.h"

/* Calls while it runs. Each may be NULL. */
struct run_hooks {
    void (*on_arm)(void *arg, const struct arm *arm, unsigned round, size_t done, size_t total);
    /* After an arm was observed, before after_arm. A negative errno ends the run. */
    int (*on_observation)(void *arg, const struct arm *arm, const struct observation *observation,
                          struct err *err);
    /* After each arm: may set `idle`, also of arms still to come in the round. */
    void (*after_arm)(void *arg);
    /*
     * After a whole round: writes the results so far. A negative errno ends the run. It may change
     * rounds_planned, add arms, and set or clear `idle` of existing arms.
     */
    int (*on_round)(void *arg, unsigned round, struct err *err);
    void *arg;
};

/*
 * Appends one observation per arm and round to `result`, after the rounds_done that it has already.
 * -EINTR: a signal asked to stop; the observations of the unfinished round are dropped, so that
 * every arm has the same rounds. A round in which the program was stopped (Ctrl-Z) is measured
 * again. If rounds take too long, fewer are measured and rounds_planned is lowered. With
 * result->until_clear, rounds_planned is raised after each round if there is time for another.
 */
int run_rounds(const struct observe_config *config, const struct run_hooks *hooks,
               struct signals *signals, struct result *result, struct err *err);

/* Removes that round and later ones: for a round that is incomplete or could not be written. */
void run_drop_round(struct result *result, unsigned round);

/* False if no arm, baselines included, has a usable round. */
bool run_measured_anything(const struct result *result);

/*
 * Who else uses the CPUs during a run: the processes of others, by their CPU time from before the
 * first round until after the last. A process that ends before is not seen.
 */
struct tree_use;

/* Zeroed = none. */
struct others {
    uint64_t at_ns;
    unsigned n;
    struct tree_use *before; /* owned */
};

/* Without memory no process is named. */
void others_begin(struct others *others);

/* Sets result->others: those that used the most since others_begin, RESULT_OTHERS_LEAST or more. */
void others_note(const struct others *others, struct result *result);

void others_end(struct others *others);

#endif

/*
 * Controls: additional arms that show the state of the machine itself. They run the benchmarks
 * `canary` and `gpu_canary`, if the program has them, once a round each.
 */
#ifndef CONTEND_ENGINE_CONTROLS_H
#define CONTEND_ENGINE_CONTROLS_H

#include "harness/engine/setup.h"

/*
 * Appends the controls after the planned arms. There are none if the user wants none, in an ab, in
 * a job of several ranks (all ranks would have to take part), and of a benchmark that the run
 * measures anyway. gpu_canary has one worker for each GPU that the arms use.
 */
int controls_add(const struct bench *const *benches, const struct run_options *options,
                 const struct topo *topo, struct result *result, struct err *err);

/* The controls' time in a round, s, for estimates. */
double controls_seconds(const struct result *result);

#endif

/*
 * Arms beside those that a run is for, which show how the machine itself is: the benchmarks
 * `canary` and `gpu_canary`, where the program has them, once a round each.
 */
#ifndef CONTEND_ENGINE_RUN_CANARIES_H
#define CONTEND_ENGINE_RUN_CANARIES_H

#include "harness/engine/run/setup.h"

/*
 * Appends them behind the arms that are planned. None where the user wants none, in a job of
 * several ranks, whose arms all of them would have to meet in, and of what is measured anyway; on
 * GPUs one worker for each that the arms use, and none where they use none.
 */
int canaries_add(const struct bench *const *benches, const struct run_options *options,
                 const struct topo *topo, struct result *result, struct err *err);

/* Their time in a round, for estimates. */
double canaries_seconds(const struct result *result);

#endif
